from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest

from utils.spaces import space_to_dict, spaces_differ

SPACES = [
    gym.spaces.Box(-1, 1, (3,), np.float32),
    gym.spaces.Box(-1, 2, (3,), np.float32),
    gym.spaces.Box(-1, 1, (3, 1), np.float32),
    gym.spaces.Box(-1, 1, (3,), np.float64),
    gym.spaces.Box(-np.inf, np.inf, (3,), np.float32),
    gym.spaces.Box(np.array([-1, -2], np.float32), np.array([1, np.inf], np.float32)),
    gym.spaces.Discrete(3),
    gym.spaces.Discrete(3, start=-1),
    gym.spaces.MultiDiscrete([3, 2]),
    gym.spaces.MultiDiscrete([3, 2], start=[0, 1]),
    gym.spaces.MultiBinary(3),
    gym.spaces.Dict(a=gym.spaces.Discrete(2), b=gym.spaces.Discrete(3)),
    gym.spaces.Dict(a=gym.spaces.Discrete(3), b=gym.spaces.Discrete(2)),
]


def test_descriptions_survive_json_and_tell_all_spaces_apart() -> None:
    described = [json.dumps(space_to_dict(space), allow_nan=False) for space in SPACES]
    assert [json.loads(text) for text in described] == [space_to_dict(space) for space in SPACES]
    assert len(set(described)) == len(SPACES)


def test_bounds_are_short_where_they_are_equal() -> None:
    unbounded, mixed = space_to_dict(SPACES[4]), space_to_dict(SPACES[5])
    assert (unbounded["low"], unbounded["high"]) == ("-inf", "inf")
    assert (mixed["low"], mixed["high"]) == ([-1.0, -2.0], [1.0, "inf"])


def test_the_order_of_keys_does_not_matter() -> None:
    forward = gym.spaces.Dict([("a", gym.spaces.Discrete(2)), ("b", gym.spaces.Discrete(3))])
    backward = gym.spaces.Dict([("b", gym.spaces.Discrete(3)), ("a", gym.spaces.Discrete(2))])
    assert space_to_dict(forward) == space_to_dict(backward)


def test_differences_are_named() -> None:
    stored = {"observation": space_to_dict(SPACES[0]), "action": space_to_dict(SPACES[6])}
    now = stored | {"action": space_to_dict(SPACES[7])}
    assert spaces_differ(stored, stored) == []
    (line,) = spaces_differ(stored, now)
    assert line.startswith("the action space is discrete(")
    assert line.endswith("but its start differ")


def test_a_difference_is_short() -> None:
    box = gym.spaces.Box(np.arange(-64.0, 0.0), np.arange(1.0, 65.0))
    parts = gym.spaces.Dict({f"part{i}": box for i in range(9)})
    stored = {"observation": space_to_dict(box), "action": space_to_dict(gym.spaces.Discrete(2))}
    now = stored | {"observation": space_to_dict(gym.spaces.Box(-1.0, 1.0, (3, 4)))}
    assert spaces_differ(stored, now) == [
        "the observation space was box(64) in training and is box(3, 4) now"
    ]
    (line,) = spaces_differ(stored, stored | {"observation": space_to_dict(parts)})
    assert "is dict(part0: box(64), part1: box(64)" in line
    assert len(line) < 160


def test_an_unknown_space_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(AssertionError, match="Text"):
        space_to_dict(gym.spaces.Text(3))
