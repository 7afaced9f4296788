from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gym_envs.obstacle.demonstrator import begin_demonstration
from gym_envs.obstacle.env import RADIUS, STEP_LENGTH, ObstacleEnv
from gym_envs.obstacle.registration import register


def place(env: ObstacleEnv, point: tuple[float, float]) -> None:
    env.reset(seed=0)
    env._position, env._disk = np.array(point), np.zeros(2)


@pytest.mark.parametrize("pixels", [False, True])
def test_gymnasium_finds_no_fault(pixels: bool) -> None:
    register()
    env = gym.make("Obstacle-v0", pixels=pixels, render_mode="rgb_array")
    check_env(env.unwrapped, skip_render_check=True)


def test_a_step_is_as_long_as_the_action_and_at_most_one() -> None:
    env = ObstacleEnv()
    place(env, (1.0, 0.0))
    assert env.step([0.2, -0.5])[0][:2] == pytest.approx(
        [1 + 0.2 * STEP_LENGTH, -0.5 * STEP_LENGTH]
    )
    place(env, (1.0, 0.0))
    moved = env.step([1.0, 1.0])[0][:2] - [1.0, 0.0]
    assert np.linalg.norm(moved) == pytest.approx(STEP_LENGTH)


def test_the_disk_ends_the_episode_without_a_reward() -> None:
    env = ObstacleEnv()
    place(env, (0.0, -RADIUS - 0.01))
    _, reward, terminated, truncated, info = env.step([0.0, 1.0])
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["episode_metrics"] == {"is_success": 0.0}


@pytest.mark.parametrize(("x", "went_left"), [(-0.5, 1.0), (0.5, 0.0)])
def test_the_line_pays_and_the_side_is_told(x: float, went_left: float) -> None:
    env = ObstacleEnv()
    place(env, (x, -0.1))
    for _ in range(20):
        _, reward, terminated, _, info = env.step([0.0, 1.0])
        if terminated:
            break
    assert (reward, terminated) == (1.0, True)
    assert info["episode_metrics"] == {"is_success": 1.0, "went_left": went_left}


def test_the_middle_way_touches_the_disk_and_one_step_late_is_too_late() -> None:
    env = ObstacleEnv()
    for side in (0.0, 1.0, -1.0):
        env.reset(seed=1)
        env.step([0.0, np.sqrt(0.5)])
        way = [0.0, 1.0] if side == 0 else [side * np.sqrt(0.5), np.sqrt(0.5)]
        for _ in range(20):
            _, reward, terminated, _, _ = env.step(way)
            if terminated:
                break
        assert (reward, terminated) == (0.0, True), side


def test_the_picture_shows_point_and_disk_where_they_are() -> None:
    env = ObstacleEnv(pixels=True)
    place(env, (-1.0, 1.0))
    frame, *_ = env.step([0.0, 0.0])
    blue = np.argwhere((frame == (50, 90, 180)).all(axis=-1)).mean(axis=0)
    red = np.argwhere((frame == (190, 90, 80)).all(axis=-1)).mean(axis=0)
    # 64 pixels for -1.5 to 1.5: x = -1 is at 10.7, y = 1 at 10.7 from the top.
    assert blue == pytest.approx([10.2, 10.2], abs=0.6)
    assert red == pytest.approx([31.5, 31.5], abs=0.6)


def test_the_demonstrator_always_succeeds_and_takes_both_ways_as_often() -> None:
    env, sides = ObstacleEnv(), []
    for seed in range(200):
        env.reset(seed=seed)
        act = begin_demonstration(env, np.random.default_rng([seed, 1]))
        terminated = False
        while not terminated:
            action = act()
            assert action in env.action_space
            _, reward, terminated, _, info = env.step(action)
        assert reward == 1.0, seed
        sides.append(info["episode_metrics"]["went_left"])
    assert 80 <= sum(sides) <= 120
