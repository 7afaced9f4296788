import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.playback.key_maps import build_key_map
from utils.playback.suggestion import describe_thoughts, suggestion_rows


def rows(space, labels, thoughts, action, mask=None):
    return suggestion_rows(
        {name: torch.tensor([values]) for name, values in thoughts.items()},
        np.array(action),
        space=space,
        key_map=build_key_map(space, labels),
        mask=None if mask is None else np.array(mask),
    )


def test_probabilities_of_choices():
    found = rows(
        gym.spaces.Discrete(3),
        ["push left", "nothing", "push right"],
        {"action_probabilities": [0.7, 0.0, 0.3]},
        0,
        mask=[True, False, True],
    )
    assert [(row.keys, row.number, row.fraction) for row in found] == [
        ("left", "0.70", pytest.approx(0.7)),
        ("no key", "0.00", 0.0),
        ("right", "0.30", pytest.approx(0.3)),
    ]
    assert [row.is_suggested for row in found] == [True, False, False]
    assert [row.is_forbidden for row in found] == [False, True, False]


def test_values_of_actions_are_bars_between_the_lowest_and_the_highest():
    found = rows(gym.spaces.Discrete(3), "abc", {"q_values": [-5.0, 5.0, 0.0]}, 1)
    assert [row.number for row in found] == ["-5.00", "5.00", "0.00"]
    assert [row.fraction for row in found] == [0.0, 1.0, 0.5]


def test_what_is_forbidden_has_no_value():
    values = {"q_values": [-np.inf, 2.0, 2.0]}
    found = rows(gym.spaces.Discrete(3), "abc", values, 1, mask=[False, True, True])
    assert [row.number for row in found] == ["", "2.00", "2.00"]
    assert [row.fraction for row in found] == [0.0, 0.0, 0.0]


def test_every_part_has_its_choice():
    space = gym.spaces.MultiDiscrete([2, 3])
    shares = {"action_probabilities": [0.5, 0.5, 0.1, 0.2, 0.7]}
    found = rows(space, list("abcde"), shares, [1, 2])
    assert [row.is_suggested for row in found] == [False, True, False, False, True]


def test_bits_that_are_set():
    shares = {"action_probabilities": [0.9, 0.2, 0.6]}
    found = rows(gym.spaces.MultiBinary(3), list("abc"), shares, [1, 0, 1])
    assert [row.is_suggested for row in found] == [True, False, True]


def test_entries_lie_between_their_bounds_as_the_environment_gets_them():
    space = gym.spaces.Box(np.array([-2, 0], np.float32), np.array([2, np.inf], np.float32))
    found = rows(space, ["torque", "x"], {"action_mean": [1.0, 0.5]}, [-3.0, 0.5])
    assert [(row.fraction, row.number) for row in found] == [(0.0, "-2.00"), (None, "+0.50")]
    half = rows(space, ["torque", "x"], {}, [1.0, -1.0])
    assert [(row.fraction, row.number) for row in half] == [(0.75, "+1.00"), (None, "+0.00")]


def test_a_policy_that_says_nothing_has_rows_all_the_same():
    found = rows(gym.spaces.Discrete(2), ["a", "b"], {}, 1)
    assert [(row.fraction, row.number, row.is_suggested) for row in found] == [
        (None, "", False),
        (None, "", True),
    ]
    assert describe_thoughts({}) == ""


def test_value_and_entropy_as_far_as_there_are_some():
    thoughts = {"value": torch.tensor([1234.5]), "entropy": torch.tensor([0.25])}
    assert describe_thoughts(thoughts) == "value 1,234.50   entropy 0.25"
    assert describe_thoughts({"entropy": torch.tensor([0.25])}) == "entropy 0.25"
