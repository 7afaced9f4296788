import json

import gymnasium as gym
import numpy as np
import pytest

from utils.errors import UserError
from utils.inspection.actions import as_policy_action, describe_actions, read_choice

DISCRETE = gym.spaces.Discrete(3, start=-1)
MULTI = gym.spaces.MultiDiscrete([2, 3])
BITS = gym.spaces.MultiBinary(2)
BOX = gym.spaces.Box(np.array([-1.0, -np.inf]), np.array([1.0, np.inf]), dtype=np.float64)


def test_without_names_choices_are_called_as_the_environment_is_sent_them():
    assert describe_actions(DISCRETE)["groups"] == [{"name": "", "labels": ["-1", "0", "1"]}]
    shifted = gym.spaces.MultiDiscrete([2, 2], start=[5, 0])
    labels = [group["labels"] for group in describe_actions(shifted)["groups"]]
    assert labels == [["5", "6"], ["0", "1"]]


def test_names_of_another_number_belong_to_another_set_of_actions():
    six = ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]
    full = gym.spaces.Discrete(18)
    labels = describe_actions(full, labels=six)["groups"][0]["labels"]
    assert labels == [str(k) for k in range(18)]
    assert describe_actions(gym.spaces.Discrete(6), labels=six)["groups"][0]["labels"] == six


def test_the_environments_own_names_come_first():
    own, config = ["a", "b", "c"], ["x", "y", "z"]
    assert describe_actions(DISCRETE, labels=config, meanings=own)["groups"][0]["labels"] == own
    assert describe_actions(DISCRETE, labels=config)["groups"][0]["labels"] == config


def test_parts_bits_and_numbers_have_names():
    assert describe_actions(MULTI, labels=["move", "turn"])["groups"][1]["name"] == "turn"
    assert describe_actions(BITS, labels=["jump", "fire"])["groups"][0]["labels"] == [
        "jump",
        "fire",
    ]
    box = describe_actions(BOX)
    assert box["labels"] == ["action 0", "action 1"]
    assert (box["low"], box["high"]) == ([-1.0, None], [1.0, None])
    json.dumps(box, allow_nan=False)


@pytest.mark.parametrize(
    ("space", "values"), [(DISCRETE, [2]), (MULTI, [1, 2]), (BITS, [0, 1]), (BOX, [0.5, -7.0])]
)
def test_a_choice_becomes_an_action_of_the_policy(space, values):
    choice = read_choice(values, space, mask=None)
    action = as_policy_action(choice, space)
    is_box = isinstance(space, gym.spaces.Box)
    assert action.dtype == (np.float32 if is_box else np.int64)
    assert action.shape == (() if space is DISCRETE else space.shape)
    assert action.reshape(-1).tolist() == values


@pytest.mark.parametrize(
    ("space", "values"),
    [
        (DISCRETE, [3]),
        (DISCRETE, [-1]),
        (DISCRETE, [0.5]),
        (DISCRETE, []),
        (DISCRETE, ["0"]),
        (DISCRETE, [True]),
        (DISCRETE, 1),
        (DISCRETE, None),
        (MULTI, [2, 0]),
        (MULTI, [0]),
        (BITS, [2, 0]),
        (BOX, [float("nan"), 0.0]),
        (BOX, [float("inf"), 0.0]),
    ],
)
def test_what_is_no_action_is_refused(space, values):
    with pytest.raises(UserError):
        read_choice(values, space, mask=None)


@pytest.mark.parametrize(
    ("space", "mask", "allowed", "forbidden"),
    [
        (DISCRETE, [1, 0, 1], [2], [1]),
        (MULTI, [1, 0, 0, 1, 1], [0, 2], [0, 0]),
        (BITS, [1, 0], [1, 0], [0, 1]),
    ],
)
def test_masks_forbid(space, mask, allowed, forbidden):
    mask = np.array(mask, bool)
    assert list(read_choice(allowed, space, mask=mask)) == allowed
    with pytest.raises(UserError, match="does not allow"):
        read_choice(forbidden, space, mask=mask)
