from __future__ import annotations

from typing import Any

import pytest

from gym_wrappers.potential_shaping import PotentialShaping
from tests.helpers.wrapper_envs import ScriptedEnv


class Position(PotentialShaping):
    """phi is the observation itself."""

    def compute_potential(self, observation: Any) -> float:
        return float(observation[0])


@pytest.mark.parametrize(("ending", "last"), [("terminated", 0.0), ("truncated", 7.0)])
def test_a_step_gains_the_discounted_change_of_the_potential(ending: str, last: float) -> None:
    env = Position(ScriptedEnv([[3.0], [5.0], [7.0]], ending=ending), gamma=0.5)
    env.reset()
    assert env.step(0)[1] == 1.0 + 0.5 * 5.0 - 3.0
    assert env.raw_reward == 1.0
    assert env.step(0)[1] == 2.0 + 0.5 * last - 5.0
    assert env.raw_reward == 2.0


def test_a_new_episode_starts_from_its_own_first_state() -> None:
    env = Position(ScriptedEnv([[3.0], [5.0], [7.0]]), gamma=0.5)
    env.reset()
    env.step(0)
    env.reset()
    assert env.step(0)[1] == 0.5
