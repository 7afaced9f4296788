"""What the numbers of an action press: lists of buttons with names that can be read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from utils.errors import ConfigError

Presses = tuple[float, ...]
"""One value for each button of the scenario: 0 or 1, or the speed of a DELTA button."""

NO_OP = "NO_OP"
_MOST_COMBINATIONS = 512
# Of each of these, at most one is pressed: the others would undo it, or only one counts.
_EXCLUSIVE = (
    ("MOVE_LEFT", "MOVE_RIGHT"),
    ("MOVE_FORWARD", "MOVE_BACKWARD"),
    ("MOVE_UP", "MOVE_DOWN"),
    ("TURN_LEFT", "TURN_RIGHT"),
    ("LOOK_UP", "LOOK_DOWN"),
)
_SELECT = "SELECT_"


class ButtonActions:
    """The action space of a scenario and what its values press.

    Attributes:
        space: Discrete, or MultiBinary where every button is an entry.
        names: What each value of a Discrete space (each entry of a MultiBinary) presses.
    """

    def __init__(self, buttons: Sequence[str], actions: str | Sequence[str]) -> None:
        """Choose the actions.

        Args:
            buttons: Names of the scenario's buttons, in its order.
            actions: "buttons": nothing, or one button; "combinations": all that do not contradict
                themselves; "multi_binary": any; or a list such as
                `[NO_OP, ATTACK, MOVE_LEFT+ATTACK, TURN_LEFT_RIGHT_DELTA=-10]`.

        Raises:
            ConfigError: A button is not among the scenario's, or there are too many combinations.
        """
        self._buttons = list(buttons)
        self._binary = [name for name in buttons if not name.endswith("_DELTA")]
        if not self._binary and isinstance(actions, str):
            raise ConfigError(
                f"env_kwargs: actions: {actions}: the scenario has no button that is on or off "
                f"({', '.join(buttons) or 'none at all'}); list what each action presses"
            )
        self._presses: list[Presses] | None = None
        if actions == "multi_binary":
            self.space: gym.Space = gym.spaces.MultiBinary(len(self._binary))
            self.names = tuple(self._binary)
            self._positions = [self._buttons.index(name) for name in self._binary]
            return
        self.names = tuple(self._list_names(actions))
        self._presses = [self._parse(name) for name in self.names]
        self.space = gym.spaces.Discrete(len(self.names))

    def presses(self, action: int | np.ndarray) -> Presses | list[float]:
        """Return what an action presses.

        Args:
            action: A value of the space: an integer, or (n,) of 0 and 1.
        """
        if self._presses is not None:
            return self._presses[action]
        pressed = [0.0] * len(self._buttons)
        for position, value in zip(self._positions, action, strict=True):
            pressed[position] = float(value)
        return pressed

    def _list_names(self, actions: str | Sequence[str]) -> list[str]:
        if actions == "buttons":
            return [NO_OP, *self._binary]
        if actions == "combinations":
            return self._combinations()
        if isinstance(actions, str) or not isinstance(actions, Sequence):
            raise ConfigError(
                f"env_kwargs: actions: {actions!r} is not one of buttons, combinations, "
                "multi_binary, or a list of buttons joined by +"
            )
        if not actions:
            raise ConfigError("env_kwargs: actions: the list is empty")
        return [str(name) for name in actions]

    def _combinations(self) -> list[str]:
        weapons = tuple(name for name in self._binary if name.startswith(_SELECT))
        groups = [
            kept
            for group in (*_EXCLUSIVE, weapons)
            if (kept := [name for name in group if name in self._binary])
        ]
        grouped = {name for group in groups for name in group}
        groups += [[name] for name in self._binary if name not in grouped]
        count = math.prod(len(group) + 1 for group in groups)
        if count > _MOST_COMBINATIONS:
            raise ConfigError(
                f"env_kwargs: actions: combinations: the {len(self._binary)} buttons of this "
                f"scenario make {count} of them; list the useful ones (at most "
                f"{_MOST_COMBINATIONS}), such as [NO_OP, ATTACK, MOVE_FORWARD+ATTACK]"
            )
        chosen = itertools.product(*([None, *group] for group in groups))
        return ["+".join(name for name in names if name) or NO_OP for names in chosen]

    def _parse(self, action: str) -> Presses:
        pressed = [0.0] * len(self._buttons)
        if action == NO_OP:
            return tuple(pressed)
        for part in action.split("+"):
            name, _, value = part.strip().partition("=")
            if name not in self._buttons:
                raise ConfigError(
                    f"env_kwargs: actions: '{action}': the scenario has no button '{name}'; it has "
                    f"{', '.join(self._buttons)}"
                )
            pressed[self._buttons.index(name)] = _speed(value, action) if value else 1.0
        return tuple(pressed)


def _speed(text: str, action: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"env_kwargs: actions: '{action}': '{text}' is not a number") from error
