from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from utils.errors import ConfigError
from utils.spaces import ActionAdapter


def test_discrete_actions_count_from_the_start_of_the_space() -> None:
    space = gym.spaces.Discrete(3, start=-1)
    action = np.array([0, 1, 2, 0])
    sent = ActionAdapter(space).to_env(action)
    assert sent.tolist() == [-1, 0, 1, -1]
    assert sent.dtype == space.dtype
    assert all(space.contains(a) for a in sent)
    assert action.tolist() == [0, 1, 2, 0]


def test_discrete_actions_without_a_start_are_not_copied() -> None:
    action = np.array([0, 1, 1])
    assert np.shares_memory(ActionAdapter(gym.spaces.Discrete(2)).to_env(action), action)


def test_multi_discrete_actions_have_a_start_of_their_own_each() -> None:
    space = gym.spaces.MultiDiscrete([3, 2], start=[-1, 10])
    action = np.array([[0, 0], [2, 1]])
    sent = ActionAdapter(space).to_env(action)
    assert sent.tolist() == [[-1, 10], [1, 11]]
    assert all(space.contains(a) for a in sent)
    assert action.tolist() == [[0, 0], [2, 1]]


def test_bits_get_the_dtype_of_the_space() -> None:
    space = gym.spaces.MultiBinary(3)
    sent = ActionAdapter(space).to_env(np.array([[1, 0, 1]]))
    assert sent.tolist() == [[1, 0, 1]]
    assert space.contains(sent[0])


def test_boxes_are_clipped_for_the_environment_only() -> None:
    action = np.array([[1.7, -0.5], [-3.0, 9.0]], dtype=np.float32)
    space = gym.spaces.Box(np.array([-1, -2], np.float32), np.array([1, 2], np.float32))
    sent = ActionAdapter(space).to_env(action)
    np.testing.assert_array_equal(sent, np.array([[1.0, -0.5], [-1.0, 2.0]], np.float32))
    np.testing.assert_array_equal(action, np.array([[1.7, -0.5], [-3.0, 9.0]], np.float32))
    assert all(space.contains(a) for a in sent)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, np.inf, [0.0, 50.0]),
        (-np.inf, 2.0, [-50.0, 2.0]),
        (-np.inf, np.inf, [-50.0, 50.0]),
        ([0.0, -np.inf], [np.inf, 7.0], [0.0, 7.0]),
        ([-np.inf, -np.inf], [np.inf, 7.0], [-50.0, 7.0]),
    ],
)
def test_only_finite_bounds_clip(low: object, high: object, expected: list[float]) -> None:
    low, high = np.broadcast_to(low, 2), np.broadcast_to(high, 2)
    space = gym.spaces.Box(low.astype(np.float32), high.astype(np.float32))
    sent = ActionAdapter(space).to_env(np.array([[-50.0, 50.0]], dtype=np.float32))
    assert sent.tolist() == [expected]


def test_boxes_keep_the_dtype_and_shape_of_the_space() -> None:
    space = gym.spaces.Box(-1, 1, (2, 2), dtype=np.float64)
    sent = ActionAdapter(space).to_env(np.full((3, 2, 2), 0.25, dtype=np.float32))
    assert sent.dtype == np.float64
    assert sent.shape == (3, 2, 2)


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Box(0, 255, (2,), dtype=np.uint8),
        gym.spaces.MultiDiscrete([[2, 2], [2, 2]]),
        gym.spaces.Tuple([gym.spaces.Discrete(2)]),
        gym.spaces.Text(3),
    ],
)
def test_other_spaces_are_refused(space: gym.Space) -> None:
    with pytest.raises(ConfigError, match="action space"):
        ActionAdapter(space)
