from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gym_envs.example_env.env import ExampleEnv
from gym_envs.example_env.registration import register
from utils.environment import build_env
from utils.errors import ConfigError

UP, DOWN, LEFT, RIGHT = range(4)


def place(env: ExampleEnv, walker: tuple[int, int], goal: tuple[int, int]) -> None:
    env.reset(seed=0)
    env._walker, env._goal = np.array(walker), np.array(goal)


def test_gymnasium_finds_no_fault() -> None:
    register()
    check_env(gym.make("Example-v0", render_mode="rgb_array").unwrapped, skip_render_check=True)


def test_the_walker_moves_one_cell_and_stays_on_the_grid() -> None:
    env = ExampleEnv(size=5)
    place(env, (0, 1), (4, 4))
    seen = [(env.step(action)[0][:2] * 4).tolist() for action in (UP, LEFT, LEFT, DOWN, RIGHT)]
    assert seen == [[0, 1], [0, 0], [0, 0], [1, 0], [1, 1]]


def test_the_goal_pays_and_ends_the_episode() -> None:
    env = ExampleEnv(size=3)
    place(env, (0, 0), (0, 2))
    observation, reward, terminated, truncated, info = env.step(RIGHT)
    assert observation.tolist() == [0.0, 0.5, 0.0, 1.0]
    assert (reward, terminated, truncated, info) == (-0.02, False, False, {})
    _, reward, terminated, truncated, _ = env.step(RIGHT)
    assert (reward, terminated, truncated) == (0.98, True, False)


def test_the_seed_decides_the_start_and_never_puts_the_walker_on_the_goal() -> None:
    env = ExampleEnv(size=2)
    starts = [env.reset(seed=seed)[0].tolist() for seed in range(50)]
    assert starts == [env.reset(seed=seed)[0].tolist() for seed in range(50)]
    assert all(start[:2] != start[2:] for start in starts)
    assert len({tuple(start) for start in starts}) == 12  # four cells, three left for the goal


def test_an_observation_that_is_kept_does_not_change() -> None:
    env = ExampleEnv()
    place(env, (3, 3), (0, 0))
    kept = env.step(UP)[0]
    before = kept.copy()
    env.step(UP)
    assert kept.tolist() == before.tolist()


def test_the_picture_shows_walker_and_goal() -> None:
    env = ExampleEnv(size=4, render_mode="rgb_array")
    place(env, (0, 0), (2, 3))
    frame = env.render()
    assert (frame.shape, frame.dtype) == ((96, 96, 3), np.uint8)
    assert frame[12, 12].tolist() == [50, 90, 180]
    assert frame[2 * 24 + 12, 3 * 24 + 12].tolist() == [70, 160, 90]


def test_the_limit_of_the_registration_truncates() -> None:
    env = build_env("Example-v0", n_envs=2, env_kwargs={"size": 30})
    env.reset(seed=0)
    ends = [env.step(np.full(2, UP))[3].copy() for _ in range(50)]
    assert not np.any(ends[:-1])
    assert ends[-1].all()
    assert env.max_episode_steps == 50
    env.close()


@pytest.mark.parametrize("size", [1, 2.5, True])
def test_a_wrong_size_is_named(size: float) -> None:
    with pytest.raises(ConfigError, match="size must be a whole number >= 2"):
        build_env("Example-v0", n_envs=1, env_kwargs={"size": size})
