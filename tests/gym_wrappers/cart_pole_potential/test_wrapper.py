from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from gym_wrappers.cart_pole_potential.wrapper import CartPolePotential
from gym_wrappers.select_observation.wrapper import SelectObservation
from tests.helpers.wrapper_envs import ScriptedEnv
from utils.errors import ConfigError

STATES = ([1.2, 9.0, 0.0, 9.0], [0.0, 9.0, 0.10475, 9.0], [0.0, 0.0, 0.0, 0.0])


def test_an_upright_pole_and_a_cart_in_the_middle_are_worth_most() -> None:
    space = gym.spaces.Box(-10.0, 10.0, (4,), np.float32)
    env = CartPolePotential(
        ScriptedEnv(STATES, space=space), gamma=0.9, scale=2.0, angle_weight=0.75
    )
    env.reset()
    # phi: -2 * 0.25 * (1.2 / 2.4)^2 = -0.125; -2 * 0.75 * (0.10475 / 0.2095)^2 = -0.375; 0
    assert env.step(0)[1] == pytest.approx(1.0 + 0.9 * -0.375 + 0.125)
    assert env.step(0)[1] == pytest.approx(2.0 + 0.9 * 0.0 + 0.375)
    assert env.raw_reward == 2.0


def test_numbers_in_another_order_are_not_read() -> None:
    env = SelectObservation(gym.make("CartPole-v1"), indices=[0, 2, 1, 3])
    with pytest.raises(ConfigError, match="put CartPolePotential before SelectObservation"):
        CartPolePotential(env, gamma=0.9)
    inside = SelectObservation(CartPolePotential(gym.make("CartPole-v1"), gamma=0.9), indices=[0])
    assert inside.observation_space.shape == (1,)


def test_another_environment_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs a CartPole environment, not Acrobot-v1"):
        CartPolePotential(gym.make("Acrobot-v1"), gamma=0.9)
    with pytest.raises(ConfigError, match="reads 4 numbers of CartPole"):
        CartPolePotential(ScriptedEnv([[0.0], [1.0]]), gamma=0.9)
