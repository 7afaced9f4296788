"""The stage: what a step does, when it is over, what is seen."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gym_envs.spotlight.env import LOST, STEP, SpotlightEnv
from gym_envs.spotlight.registration import register


@pytest.fixture
def env():
    env = SpotlightEnv(render_mode="rgb_array")
    env.reset(seed=0)
    return env


def place(env, *, actor, light, velocity=0.02):
    env._actor, env._light, env._velocity = actor, light, velocity


def test_it_keeps_gymnasiums_contract() -> None:
    register()
    check_env(gym.make("Spotlight-v0", render_mode="rgb_array").unwrapped)


def test_the_light_moves_as_it_is_steered_and_the_actor_by_himself(env) -> None:
    place(env, actor=0.5, light=0.4)
    env.np_random = np.random.default_rng(1)  # its first number is 0.51: he does not turn
    _, reward, terminated, truncated, _ = env.step(np.array([0.5], np.float32))
    assert env._light == pytest.approx(0.4 + 0.5 * STEP)
    assert env._actor == pytest.approx(0.52)
    # 0.52 - 0.43 = 0.09; exp(-(0.09 / 0.15)^2) = exp(-0.36)
    assert reward == pytest.approx(math.exp(-0.36))
    assert not terminated
    assert not truncated


def test_whoever_is_lost_in_the_dark_ends_the_show(env) -> None:
    place(env, actor=0.9, light=0.9 - LOST - 0.01, velocity=0.0)
    assert not env.step([1.0])[2]  # the light comes nearer by 0.06
    place(env, actor=0.9, light=0.9 - LOST + 0.01, velocity=0.0)
    assert env.step([-1.0])[2]


def test_nobody_leaves_the_stage(env) -> None:
    for step in range(300):
        env.step([1.0 if step < 150 else -5.0])
        assert 0.0 <= env._actor <= 1.0
        assert 0.0 <= env._light <= 1.0


def test_beam_and_actor_are_where_they_are_seen(env) -> None:
    place(env, actor=0.25, light=0.75)
    picture = env._picture()
    assert picture.shape == (64, 64, 3)
    assert picture[2, :, 1].argmax() in (47, 48)  # the beam, above the figure
    redness = picture[42].astype(int)[:, 0] - picture[42].astype(int)[:, 1]
    assert abs(int(redness.argmax()) - 16) <= 3
    assert env.render().shape == (256, 256, 3)


def test_the_seed_decides_the_show() -> None:
    def play(seed):
        env = SpotlightEnv()
        first = env.reset(seed=seed)[0]
        return [first, *(env.step([0.1])[0] for _ in range(20))]

    assert all(np.array_equal(a, b) for a, b in zip(play(3), play(3), strict=True))
    assert not np.array_equal(play(3)[0], play(4)[0])
