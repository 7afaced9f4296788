from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gym_envs.bandits.env import BanditEnv
from gym_envs.bandits.registration import BANDITS, register
from utils.errors import ConfigError

register()


@pytest.mark.parametrize("env_id", BANDITS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gymnasium_finds_no_fault(env_id: str) -> None:
    check_env(gym.make(env_id, render_mode="rgb_array").unwrapped, skip_render_check=True)


def test_the_episode_terminates_at_its_horizon_and_tells_of_itself() -> None:
    env = BanditEnv(n_arms=3, horizon=4)
    env.reset(seed=0)
    means = env._table.means[0, 0].copy()
    steps = [env.step(arm) for arm in (0, 1, 2, 2)]
    assert [step[2] for step in steps] == [False, False, False, True]
    assert not any(step[3] for step in steps)
    metrics = steps[-1][4]["episode_metrics"]
    assert metrics["regret"] == pytest.approx(4 * means.max() - means[[0, 1, 2, 2]].sum())
    assert metrics["optimal_share"] == (2 if means.argmax() == 2 else 1) / 4


def test_the_seed_decides_everything_and_episodes_differ() -> None:
    def play(env: BanditEnv) -> list[float]:
        return [float(env.step(t % 10)[1]) for t in range(20)]

    env = BanditEnv(rewards="gaussian")
    env.reset(seed=3)
    first = play(env)
    env.reset()
    second = play(env)
    env.reset(seed=3)
    assert play(env) == first
    env.reset()
    assert play(env) == second != first


def test_a_picture_shows_the_state() -> None:
    env = BanditEnv(n_arms=4, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step(1)
    after = env.render()
    assert before.dtype == np.uint8
    assert before.shape == after.shape == (240, 168, 3)
    assert before.std() > 0
    # the second arm's columns are 48 to 79: something was seen of it, and nothing else changed
    changed = np.flatnonzero((before != after).any(axis=(0, 2)))
    assert (changed.min(), changed.max()) == (48, 79)


def test_a_wrong_argument_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean horizon"):
        BanditEnv(horizo=3)
