"""Which buttons of a console's pad the numbers of an action press."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from utils.errors import ConfigError

NO_OP = "NO_OP"
_DIRECTIONS = ("UP", "DOWN", "LEFT", "RIGHT")
# The first of these that a pad has whole are its main buttons. With two, both together count too.
_MAIN_BUTTONS = (
    ("A", "B", "C"),
    ("A", "B", "X", "Y"),
    ("A", "B", "Z"),
    ("A", "B"),
    ("I", "II"),
    ("BUTTON",),
)


class PadActions:
    """The action space of a console and what its values press.

    Attributes:
        space: Discrete, or MultiBinary where every button is an entry.
        names: What each value of a Discrete space (each entry of a MultiBinary) presses.
    """

    def __init__(
        self,
        buttons: Sequence[str | None],
        groups: Sequence[Sequence[Sequence[str]]],
        actions: str | Sequence[str],
    ) -> None:
        """Choose the actions.

        Args:
            buttons: The pad's buttons in the emulator's order; None where there is none.
            groups: Lists of buttons, of each of which one entry is pressed at a time.
            actions: "console": nothing or one direction, with none or one of the main buttons;
                "combinations": one entry of each group; "multi_binary": any buttons; or a list
                such as `[NO_OP, B, RIGHT, RIGHT+B]`.

        Raises:
            ConfigError: The pad has no such button.
        """
        self._buttons = list(buttons)
        self._masks: np.ndarray | None = None
        if actions == "multi_binary":
            self.names = tuple(name for name in buttons if name)
            self._positions = [self._buttons.index(name) for name in self.names]
            self.space: gym.Space = gym.spaces.MultiBinary(len(self.names))
            return
        self.names = tuple(self._list_names(groups, actions))
        self._masks = np.array([self._parse(name) for name in self.names])
        self.space = gym.spaces.Discrete(len(self.names))

    def mask(self, action: int | np.ndarray) -> np.ndarray:
        """Return which buttons an action presses.

        Args:
            action: A value of the space: an integer, or (n,) of 0 and 1.

        Returns:
            (n_buttons,) uint8 of 0 and 1, in the emulator's order.
        """
        if self._masks is not None:
            return self._masks[action]
        mask = np.zeros(len(self._buttons), np.uint8)
        mask[self._positions] = action
        return mask

    def _list_names(
        self, groups: Sequence[Sequence[Sequence[str]]], actions: str | Sequence[str]
    ) -> list[str]:
        if actions == "console":
            return self._console_names()
        if actions == "combinations":
            return [_join(itertools.chain(*combo)) for combo in itertools.product(*groups)]
        if isinstance(actions, str) or not isinstance(actions, Sequence):
            raise ConfigError(
                f"env_kwargs: actions: {actions!r} is not one of console, combinations, "
                "multi_binary, or a list of buttons joined by +"
            )
        if not actions:
            raise ConfigError("env_kwargs: actions: the list is empty")
        return [str(name) for name in actions]

    def _console_names(self) -> list[str]:
        present = (pad for pad in _MAIN_BUTTONS if set(pad) <= set(self._buttons))
        main = next(present, ())
        pressed = [(), *((name,) for name in main), *([main] if len(main) == 2 else [])]
        directions = [(), *((name,) for name in _DIRECTIONS if name in self._buttons)]
        return [_join((*d, *b)) for b, d in itertools.product(pressed, directions)]

    def _parse(self, action: str) -> np.ndarray:
        mask = np.zeros(len(self._buttons), np.uint8)
        if action == NO_OP:
            return mask
        for name in map(str.strip, action.split("+")):
            if name not in self._buttons:
                has = ", ".join(name for name in self._buttons if name)
                raise ConfigError(
                    f"env_kwargs: actions: '{action}': the pad has no button '{name}'; it has {has}"
                )
            mask[self._buttons.index(name)] = 1
        return mask


def _join(names: itertools.chain[str] | Sequence[str]) -> str:
    return "+".join(names) or NO_OP
