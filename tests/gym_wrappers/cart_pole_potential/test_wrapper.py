from __future__ import annotations

import pytest

from gym_wrappers.cart_pole_potential.wrapper import CartPolePotential
from tests.helpers.wrapper_envs import ScriptedEnv

STATES = ([1.2, 9.0, 0.0, 9.0], [0.0, 9.0, 0.10475, 9.0], [0.0, 0.0, 0.0, 0.0])


def test_an_upright_pole_and_a_cart_in_the_middle_are_worth_most() -> None:
    env = CartPolePotential(ScriptedEnv(STATES), gamma=0.9, scale=2.0, angle_weight=0.75)
    env.reset()
    # phi: -2 * 0.25 * (1.2 / 2.4)^2 = -0.125; -2 * 0.75 * (0.10475 / 0.2095)^2 = -0.375; 0
    assert env.step(0)[1] == pytest.approx(1.0 + 0.9 * -0.375 + 0.125)
    assert env.step(0)[1] == pytest.approx(2.0 + 0.9 * 0.0 + 0.375)
    assert env.raw_reward == 2.0
