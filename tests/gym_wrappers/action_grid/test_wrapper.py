from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from gym_wrappers.action_grid.wrapper import ActionGrid
from tests.helpers.wrapper_envs import ScriptedEnv
from utils.errors import ConfigError


def take(space: spaces.Box, n_values: Any, *actions: Any) -> tuple[Any, list[Any]]:
    inner = ScriptedEnv([[0.0]] * (len(actions) + 1), actions=space)
    env = ActionGrid(inner, n_values=n_values)
    env.reset()
    for action in actions:
        assert env.action_space.contains(action)
        env.step(action)
    return env.action_space, inner.taken


def test_one_number_becomes_a_discrete_action() -> None:
    space = spaces.Box(-2.0, 2.0, (1,), np.float32)
    outer, taken = take(space, 5, np.int64(0), np.int64(2), np.int64(3), np.int64(4))
    assert outer == spaces.Discrete(5)
    assert taken == [[-2.0], [0.0], [1.0], [2.0]]


def test_several_numbers_become_a_multi_discrete_action() -> None:
    space = spaces.Box(np.array([-1, 0], np.float32), np.array([1, 1], np.float32))
    outer, taken = take(space, [3, 2], np.array([0, 1]), np.array([1, 0]))
    assert outer == spaces.MultiDiscrete([3, 2])
    assert taken == [[-1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("n_values", [1, [3], [3, 1], [3, 3, 3], 2.5])
def test_counts_that_do_not_fit_are_refused(n_values: Any) -> None:
    env = ScriptedEnv([[0.0]] * 2, actions=spaces.Box(-1.0, 1.0, (2,)))
    with pytest.raises(ConfigError, match="n_values must be one whole number >= 2 or 2"):
        ActionGrid(env, n_values=n_values)


@pytest.mark.parametrize("space", [spaces.Discrete(3), spaces.Box(-np.inf, np.inf, (1,))])
def test_other_actions_are_refused(space: Any) -> None:
    with pytest.raises(ConfigError, match="needs a bounded Box"):
        ActionGrid(ScriptedEnv([[0.0]] * 2, actions=space), n_values=3)
