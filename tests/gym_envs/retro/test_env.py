"""The game that ships with stable-retro, one emulator at a time."""

import gymnasium as gym
import numpy as np
import pytest

from utils.environment import build_env
from utils.errors import ConfigError, MissingAssetError
from utils.vector_envs import SubprocessVectorEnv

pytest.importorskip("stable_retro")

import stable_retro

from gym_envs.retro.registration import register

GAME = "Airstriker-Genesis-v0"
ENV_ID = f"Retro/{GAME}"


def make(**kwargs):
    register()
    return gym.make(ENV_ID, disable_env_checker=True, **kwargs).unwrapped


@pytest.fixture
def env():
    env = make()
    yield env
    env.close()


def test_it_is_played_by_pictures(env):
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert observation.shape == (224, 320, 3)
    assert (env.action_space.n, env.metadata["render_fps"]) == (20, 15.0)
    observation, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["lives"] == 3
    assert env.render().shape == (224, 320, 3)
    np.testing.assert_array_equal(env.render(), observation)


def test_a_second_emulator_is_refused_before_it_crashes(env):
    with pytest.raises(ConfigError, match=f"one emulator, and this one runs {GAME} already"):
        make()
    env.reset(seed=0)
    env.step(0)  # the first one goes on
    env.close()
    make().close()


def test_an_emulator_that_is_not_ours_is_told_of_too():
    other = stable_retro.make(GAME, render_mode="rgb_array")
    try:
        with pytest.raises(ConfigError, match="this one runs another already"):
            make()
    finally:
        other.close()
    make().close()


@pytest.mark.parametrize("seed", [1, 2])
def test_steps_are_those_of_the_library(seed):
    """Without sticky actions, four frames of ours are four of stable-retro's own."""
    ours = make(repeat_action_probability=0.0, frame_skip=4, actions=["NO_OP", "B", "LEFT+B"])
    ours.reset(seed=0)
    rng = np.random.default_rng(seed)
    chosen = rng.integers(3, size=150)
    mine = [ours.step(a) for a in chosen]
    ours.close()
    theirs = stable_retro.make(
        GAME, render_mode="rgb_array", use_restricted_actions=stable_retro.Actions.ALL
    )
    try:
        theirs.reset()
        presses = np.zeros((3, 12), np.int8)
        presses[1, 0] = presses[2, [0, 6]] = 1
        for action, (observation, reward, *_) in zip(chosen, mine, strict=True):
            frames = [theirs.step(presses[action]) for _ in range(4)]
            assert reward == sum(frame[1] for frame in frames)
            np.testing.assert_array_equal(observation, frames[-1][0])
    finally:
        theirs.close()


def test_sticky_actions_follow_the_seed(env):
    def play(seed):
        env.reset(seed=seed)
        rng = np.random.default_rng(0)
        return np.array([env.step(int(rng.integers(20)))[0].sum() for _ in range(60)])

    first = play(1)
    np.testing.assert_array_equal(play(1), first)
    assert (play(2) != first).any()


def test_bits_are_filtered():
    env = make(actions="multi_binary", repeat_action_probability=0.0)
    env.reset(seed=0)
    both = np.zeros(12, np.int8)
    both[[6, 7]] = 1  # left and right at once is no press of a pad
    assert env._mask(both)[[6, 7]].sum() < 2
    assert env._mask(np.eye(12, dtype=np.int8)[6]).tolist() == np.eye(12)[6].tolist()
    env.close()


def test_the_memory_can_be_the_observation():
    env = make(obs_type="ram")
    observation, _ = env.reset(seed=0)
    assert observation.shape == (65536,)
    assert observation in env.observation_space
    env.close()


@pytest.mark.parametrize(
    ("kwargs", "told"),
    [
        ({"state": "Level9"}, "state: there is no 'Level9'; there is Level1"),
        ({"scenario": "race"}, "scenario: there is no 'race'; there is scenario"),
        ({"obs_type": "rgb"}, "obs_type: there is no 'rgb'; there is ram, image"),
        ({"frame_skip": 2.5}, "frame_skip: must be a whole number, at least 1, got 2.5"),
        ({"repeat_action_probability": 1.0}, "must be at least 0 and below 1, got 1.0"),
        ({"actions": ["FIRE"]}, "the pad has no button 'FIRE'"),
        ({"stat": "Level1"}, "takes no 'stat'; did you mean state"),
    ],
)
def test_wrong_arguments_are_told_and_leave_no_emulator(kwargs, told):
    with pytest.raises(ConfigError, match=told):
        build_env(ENV_ID, n_envs=1, vectorization="sync", env_kwargs=kwargs)
    make().close()


def test_a_missing_rom_is_told_with_the_way_to_import_it():
    with pytest.raises(MissingAssetError) as caught:
        build_env("Retro/SuperMarioBros-Nes-v0", n_envs=2)
    text = str(caught.value)
    assert "needs the ROM of SuperMarioBros-Nes-v0" in text
    assert "python -m stable_retro.import FOLDER" in text
    assert GAME in text
    assert "\n" not in text


def test_an_unknown_game_is_answered_with_the_nearest():
    with pytest.raises(ConfigError, match=f"did you mean Retro/{GAME}"):
        build_env("Retro/Airstriker-Genesis", n_envs=1)


def test_several_live_in_processes_of_their_own():
    env = build_env(ENV_ID, n_envs=2, grayscale_obs=True, resize_obs=(84, 84), frame_stack=2)
    try:
        assert isinstance(env, SubprocessVectorEnv)
        assert len(set(env.worker_pids)) == 2
        observation, _ = env.reset(seed=0)
        assert observation.shape == (2, 2, 84, 84)
        env.step(np.array([10, 10]))
        with pytest.raises(ConfigError, match="sync: Retro runs one environment in a process"):
            build_env(ENV_ID, n_envs=2, vectorization="sync")
    finally:
        env.close()
