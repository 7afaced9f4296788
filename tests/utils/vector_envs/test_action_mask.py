from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from utils.vector_envs.action_mask import find_blocked, flatten_mask, mask_width

DISCRETE = gym.spaces.Discrete(3, start=5)
MULTI = gym.spaces.MultiDiscrete([2, 3])


@pytest.mark.parametrize(
    ("space", "width"),
    [
        (DISCRETE, 3),
        (MULTI, 5),
        (gym.spaces.MultiBinary(4), 4),
        (gym.spaces.Box(-1, 1, (2,)), None),
    ],
)
def test_width(space: gym.Space, width: int | None) -> None:
    assert mask_width(space) == width


def test_a_mask_may_come_in_parts() -> None:
    parts = (np.array([1, 0], np.int8), np.array([0, 1, 1], np.int8))
    assert flatten_mask(parts).tolist() == [True, False, False, True, True]
    assert flatten_mask([1, 0, 1]).tolist() == [True, False, True]
    assert flatten_mask(np.array([[True], [False]])).tolist() == [True, False]


def test_who_may_do_nothing() -> None:
    assert find_blocked(np.array([[1, 0, 0], [0, 0, 0]], bool), DISCRETE) == 1
    assert find_blocked(np.array([[1, 0, 0], [0, 0, 1]], bool), DISCRETE) is None
    # each part of a MultiDiscrete needs a choice
    assert find_blocked(np.array([[1, 0, 1, 0, 0], [1, 1, 0, 0, 0]], bool), MULTI) == 1
    assert find_blocked(np.zeros((2, 4), bool), gym.spaces.MultiBinary(4)) is None
