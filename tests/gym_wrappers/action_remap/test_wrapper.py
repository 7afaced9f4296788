from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from gym_wrappers.action_remap.wrapper import ActionRemap
from tests.helpers.wrapper_envs import ScriptedEnv
from utils.errors import ConfigError


class NamedEnv(ScriptedEnv):
    """Actions have names, and so have buttons."""

    buttons = ("B", None, "RIGHT", "A")

    def get_action_meanings(self) -> list[str]:
        return ["NOOP", "FIRE", "RIGHT", "LEFT"]


def take(space: gym.Space, actions: list[Any], kind: type = NamedEnv) -> list[Any]:
    """Take every listed action once; return what the environment was told."""
    inner = kind([[0.0]] * (len(actions) + 1), actions=space)
    env = ActionRemap(inner, actions=actions)
    assert env.action_space == spaces.Discrete(len(actions))
    env.reset()
    for i in range(len(actions)):
        env.step(np.int64(i))
    assert all(space.contains(np.array(action, space.dtype)) for action in inner.taken)
    return inner.taken


def test_numbers_and_names_of_discrete_actions() -> None:
    assert take(spaces.Discrete(4), [3, 0]) == [3, 0]
    assert take(spaces.Discrete(4), ["left", "NOOP"]) == [3, 0]
    assert take(spaces.Discrete(4, start=10), ["RIGHT", 10]) == [12, 10]


def test_buttons_are_pressed_together() -> None:
    buttons = [["RIGHT"], ["right", "A"], []]
    assert take(spaces.MultiBinary(4), buttons) == [[0, 0, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0]]
    assert take(spaces.MultiBinary(4), [[1, 0, 0, 1], [0, 0, 0, 0]]) == [[1, 0, 0, 1], [0] * 4]


def test_numbers_of_other_spaces() -> None:
    assert take(spaces.MultiDiscrete([3, 2]), [[2, 1], [0, 0]]) == [[2, 1], [0, 0]]
    box = spaces.Box(-1.0, 1.0, (2,), np.float32)
    assert take(box, [[0.5, -1.0], [0.0, 0.0]]) == [[0.5, -1.0], [0.0, 0.0]]


def test_names_and_masks_are_those_of_the_list() -> None:
    infos = [{"action_mask": np.array([1, 0, 0, 1])}, {"action_mask": np.array([0, 1, 1, 0])}]
    env = ActionRemap(NamedEnv([[0.0], [0.0]], infos=infos), actions=["LEFT", "FIRE"])
    assert env.get_action_meanings() == ["LEFT", "FIRE"]
    assert env.reset()[1]["action_mask"].tolist() == [1, 0]
    assert env.step(0)[4]["action_mask"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("space", "actions", "mask", "expected"),
    [
        # The parts allow {0, 2} and {1}.
        (
            spaces.MultiDiscrete([3, 2]),
            [[0, 0], [0, 1], [1, 1], [2, 1]],
            (np.array([1, 0, 1]), np.array([0, 1])),
            [0, 1, 0, 1],
        ),
        (spaces.MultiDiscrete([2, 2]), [[0, 0], [1, 1]], np.array([1, 0, 1, 1]), [1, 0]),
        (spaces.MultiBinary(3), [[0, 0, 0], [1, 0, 0], [1, 1, 0]], np.array([1, 0, 1]), [1, 1, 0]),
        (spaces.Box(-1.0, 1.0, (1,), np.float32), [[0.0], [1.0]], np.array([0]), [1, 1]),
    ],
)
def test_masks_of_other_spaces_are_those_of_the_list(
    space: gym.Space, actions: list[Any], mask: Any, expected: list[int]
) -> None:
    infos = [{"action_mask": mask}] * 2
    env = ActionRemap(NamedEnv([[0.0], [0.0]], actions=space, infos=infos), actions=actions)
    assert env.reset()[1]["action_mask"].tolist() == expected


@pytest.mark.parametrize(
    ("space", "actions", "message"),
    [
        (spaces.Discrete(4), [0], "at least two"),
        (spaces.Discrete(4), [0, 0], "0 is there twice"),
        (spaces.Discrete(4), ["FIRE", 1], "1 is there twice"),
        (spaces.Discrete(4), [0, 4], "4 is no action: they are 0 to 3"),
        (spaces.Discrete(4), [0, True], "True is no action"),
        (spaces.Discrete(4), [0, "LEFTT"], "no action 'LEFTT'; did you mean LEFT?"),
        (spaces.MultiBinary(4), [[], ["Z"]], "no button 'Z'; they are B, None, RIGHT, A"),
        (spaces.MultiBinary(4), [[0, 0, 0, 2], []], "is not in MultiBinary"),
        (spaces.MultiBinary(4), ["A", []], "'A' must be a list"),
        (spaces.Box(-1, 1, (1,)), [[2.0], [0.0]], "is not in Box"),
    ],
)
def test_mistakes_are_named(space: gym.Space, actions: list[Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ActionRemap(NamedEnv([[0.0], [0.0]], actions=space), actions=actions)


def test_without_names_there_are_numbers_only() -> None:
    with pytest.raises(ConfigError, match="have no names"):
        ActionRemap(ScriptedEnv([[0.0], [0.0]]), actions=["LEFT", 0])
    with pytest.raises(ConfigError, match="have no names"):
        ActionRemap(ScriptedEnv([[0.0]] * 2, actions=spaces.MultiBinary(2)), actions=[["A"], []])
