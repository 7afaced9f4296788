from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gym_envs.bandits.registration import BANDITS, register
from gym_envs.bandits.vector_env import BanditVectorEnv
from utils.environment import build_env
from utils.errors import CheckpointError, ConfigError

register()


def play(env: Any, n: int, *, seed: int | None = 5) -> list[Any]:
    """Reset (unless seed is None), take n steps; return all that is returned, copied."""
    rng = np.random.default_rng(0)
    told = []
    if seed is not None:
        told.append(env.reset(seed=seed)[0].copy())
    for _ in range(n):
        actions = rng.integers(env.single_action_space.n, size=env.num_envs)
        observation, reward, terminated, truncated, infos = env.step(actions)
        told += [observation.copy(), reward.copy(), terminated.copy(), truncated.copy()]
        if "final_obs" in infos:
            done = infos["_final_obs"]
            told += [done.copy(), infos["final_obs"][done].copy()]
            told += [infos["episode_metrics"][k].copy() for k in ("regret", "optimal_share")]
    return told


def assert_equal(left: list[Any], right: list[Any]) -> None:
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("env_id", BANDITS)
@pytest.mark.parametrize("limit", [None, 7])
def test_arrays_play_what_single_environments_play(env_id: str, limit: int | None) -> None:
    kwargs = {"env_kwargs": {"horizon": 9}, "max_episode_steps": limit}
    native = build_env(env_id, n_envs=3, vectorization="native", **kwargs)
    sync = build_env(env_id, n_envs=3, vectorization="sync", **kwargs)
    try:
        assert native.vectorization_name == "native"
        assert native.max_episode_steps == sync.max_episode_steps == (limit or 9)
        assert native.single_observation_space == sync.single_observation_space
        assert native.single_action_space == sync.single_action_space
        assert native.render_fps == sync.render_fps
        assert native.reward_threshold == sync.reward_threshold
        assert_equal(play(native, 30), play(sync, 30))
    finally:
        native.close()
        sync.close()


def test_auto_takes_the_arrays_unless_something_needs_single_ones() -> None:
    for kwargs, name in (
        ({}, "native"),
        ({"env_wrappers": [{"id": "ClipReward"}]}, "sync"),
        ({"frame_stack": 2}, "sync"),
        ({"render_mode": "rgb_array"}, "sync"),
    ):
        env = build_env("Bandit-Gaussian-v0", n_envs=2, **kwargs)
        assert env.vectorization_name == name
        env.close()


def test_a_saved_state_goes_on_bit_for_bit() -> None:
    env = BanditVectorEnv(3, **BANDITS["Bandit-Drifting-v0"] | {"horizon": 12})
    play(env, 8)
    state = env.get_state()
    expected = play(env, 20, seed=None)
    other = BanditVectorEnv(3, **BANDITS["Bandit-Drifting-v0"] | {"horizon": 12})
    observation, restored = other.set_state(state)
    assert restored.all()
    np.testing.assert_array_equal(observation, other.table.observe())
    assert_equal(play(other, 20, seed=None), expected)


def test_a_state_of_another_kind_begins_anew_and_another_number_is_refused() -> None:
    sync = build_env("Bandit-Gaussian-v0", n_envs=2, vectorization="sync")
    sync.reset(seed=0)
    native = BanditVectorEnv(2, **BANDITS["Bandit-Gaussian-v0"])
    assert not native.set_state(sync.get_state())[1].any()
    native.step(np.zeros(2, np.int64))
    sync.close()
    with pytest.raises(CheckpointError, match="n_envs: 2"):
        BanditVectorEnv(3, **BANDITS["Bandit-Gaussian-v0"]).set_state(native.get_state())


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"env_kwargs": {"horizo": 3}}, "takes no 'horizo'; did you mean horizon?"),
        ({"max_episode_steps": 101}, "max_episode_steps: 101 has no effect: .* after 100 steps"),
        ({"vectorization": "native", "frame_stack": 2}, "native: it takes no frame_stack"),
        ({"vectorization": "sync", "max_episode_steps": 101}, "101 has no effect"),
        ({"vectorization": "sync", "env_kwargs": {"horizo": 3}}, "did you mean horizon?"),
    ],
)
def test_mistakes_are_named(kwargs: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_env("Bandit-Bernoulli-v0", n_envs=2, **kwargs)


@pytest.mark.parametrize("actions", [[0, 10], [-1, 0], [0], [0.5, 0.5]])
def test_actions_that_there_are_not_are_refused(actions: list) -> None:
    env = BanditVectorEnv(2, **BANDITS["Bandit-Bernoulli-v0"])
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions must"):
        env.step(np.array(actions))


def test_gymnasium_builds_it_too() -> None:
    env = gym.make_vec("Bandit-Contextual-v0", num_envs=3, vectorization_mode="vector_entry_point")
    env.reset(seed=1)
    assert env.step(np.zeros(3, np.int64))[0].shape == (3, 14)
    env.close()
