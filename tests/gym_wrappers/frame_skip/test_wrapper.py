from __future__ import annotations

import gymnasium as gym
import pytest

from gym_wrappers.clip_reward.wrapper import ClipReward
from gym_wrappers.frame_skip.wrapper import FrameSkip
from tests.helpers.wrapper_envs import ScriptedEnv
from utils.environment import build_env
from utils.errors import ConfigError

SKIP = {"id": "FrameSkip", "skip": 4}


def make(n: int) -> ScriptedEnv:
    return ScriptedEnv([[float(i)] for i in range(n + 1)])


def test_rewards_add_up_and_the_last_observation_is_shown() -> None:
    inner = make(8)
    env = FrameSkip(inner, skip=3)
    env.reset()
    assert env.step(2)[:4] == ([3.0], 1.0 + 2.0 + 3.0, False, False)
    assert env.step(1)[:4] == ([6.0], 4.0 + 5.0 + 6.0, False, False)
    # only two steps are left
    assert env.step(0)[:4] == ([8.0], 7.0 + 8.0, True, False)
    assert inner.taken == [2, 2, 2, 1, 1, 1, 0, 0]


def test_the_limit_is_told_in_steps_of_the_learner() -> None:
    env = build_env("CartPole-v1", n_envs=1, env_wrappers=[{"id": "FrameSkip", "skip": 3}])
    assert env.max_episode_steps == 167  # 500 / 3, rounded up
    env.close()


@pytest.mark.parametrize("skip", [1, 0, 2.5, True])
def test_a_number_that_does_nothing_is_refused(skip: float) -> None:
    with pytest.raises(ConfigError, match="whole number >= 2"):
        FrameSkip(make(3), skip=skip)


def test_a_second_skip_is_refused() -> None:
    with pytest.raises(ConfigError, match="twice"):
        FrameSkip(FrameSkip(make(3), skip=2), skip=2)
    with pytest.raises(ConfigError, match="put FrameSkip before ClipReward"):
        FrameSkip(ClipReward(make(3)), skip=2)


@pytest.mark.parametrize("name", ["frameskip", "frame_skip", "action_repeat"])
def test_an_environment_that_skips_itself_is_refused(name: str) -> None:
    env = make(3)
    env.spec = gym.envs.registration.EnvSpec("Skipping-v0", kwargs={name: 4})
    with pytest.raises(ConfigError, match=rf"Skipping-v0 skips already \({name} 4\)"):
        FrameSkip(env, skip=2)
    env.spec = gym.envs.registration.EnvSpec("Skipping-v0", kwargs={name: 1})
    FrameSkip(env, skip=2)


def test_an_environment_that_skips_unasked_is_refused() -> None:
    env = make(3)
    env.frames_per_step = 4  # by its constructor's default, so its spec says nothing
    with pytest.raises(ConfigError, match=r"ScriptedEnv skips already \(frame_skip 4\)"):
        FrameSkip(env, skip=2)
    env.frames_per_step = 1
    FrameSkip(env, skip=2)


@pytest.mark.parametrize(
    ("package", "env_id"),
    [("vizdoom", "VizDoom-Basic"), ("stable_retro", "Retro/Airstriker-Genesis-v0")],
)
def test_families_that_skip_unasked_are_refused(package: str, env_id: str) -> None:
    pytest.importorskip(package)
    with pytest.raises(ConfigError, match=r"skips already \(frame_skip 4\)"):
        build_env(env_id, n_envs=1, vectorization="sync", env_wrappers=[SKIP])
    env = build_env(
        env_id,
        n_envs=1,
        vectorization="sync",
        env_kwargs={"frame_skip": 1},
        env_wrappers=[SKIP],
    )
    env.close()
