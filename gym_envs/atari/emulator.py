"""The Arcade Learning Environment's interface: loading, seeding, beginning and reading a game."""

from __future__ import annotations

from typing import Any

import ale_py
import numpy as np
from ale_py import roms

from utils.errors import ConfigError

N_RAM_BYTES = 128


def find_rom(game: str) -> str:
    """Return the path of a game's ROM.

    Args:
        game: Its name in snake case.

    Raises:
        ConfigError: There is none, or its folder (ALE_ROMS_DIR) or content is not as it should be.
    """
    try:
        path = roms.get_rom_path(game) if game in roms.get_all_rom_ids() else None
    except OSError as error:
        raise ConfigError(
            f"env_id: the ROM of {game} cannot be used: {' '.join(str(error).split())}; ale-py "
            "brings its own where ALE_ROMS_DIR is not set"
        ) from error
    if path is None:
        raise ConfigError(f"env_id: ale-py has no ROM of a game '{game}'")
    return str(path)


class Emulator:
    """One console with one game; a frame is the unit of everything here.

    Attributes:
        act: Plays one frame with an action and returns the points that it brought.
        count_lives: Returns the lives that are left; 0 where the game has none.
        screen_size: (height, width) in pixels.
    """

    def __init__(
        self,
        game: str,
        *,
        repeat_action_probability: float,
        mode: int | None,
        difficulty: int | None,
    ) -> None:
        """Load a game; the arguments are those of `AtariEnv`.

        Raises:
            ConfigError: The game has no ROM, or no such mode or difficulty.
        """
        self._rom = find_rom(game)
        self._game, self._mode, self._difficulty = game, mode, difficulty
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._ale = ale_py.ALEInterface()
        self._ale.setFloat("repeat_action_probability", float(repeat_action_probability))
        self.seed(None)
        self.act = self._ale.act
        self.count_lives = self._ale.lives
        self.screen_size: tuple[int, int] = tuple(self._ale.getScreenDims())

    def seed(self, seed: int | None) -> None:
        """Load the game anew with a seed of ALE's own generator; None takes one of the clock.

        Raises:
            ConfigError: The game has no such mode or difficulty.
        """
        self._ale.setInt("random_seed", -1 if seed is None else seed)
        self._ale.loadROM(self._rom)
        choices = {
            "mode": (self._mode, self._ale.getAvailableModes, self._ale.setMode),
            "difficulty": (
                self._difficulty,
                self._ale.getAvailableDifficulties,
                self._ale.setDifficulty,
            ),
        }
        for key, (value, list_available, choose) in choices.items():
            if value is None:
                continue
            available = list_available()
            if value not in available:
                raise ConfigError(
                    f"env_kwargs.{key}: {self._game} has no {key} {value} "
                    f"(it has {', '.join(map(str, available))})"
                )
            choose(value)

    def list_actions(self, *, full: bool) -> list[Any]:
        """Return the console's 18 actions, or those that the game knows."""
        return list(self._ale.getLegalActionSet() if full else self._ale.getMinimalActionSet())

    def begin(self, *, fire: bool, n_noops: int) -> None:
        """Begin a game, with FIRE for a frame if asked for, then frames without action."""
        self._ale.reset_game()
        if fire:
            self.act(ale_py.Action.FIRE)
        for _ in range(n_noops):
            self.act(ale_py.Action.NOOP)
            if self.is_over():
                self._ale.reset_game()

    def is_over(self) -> bool:
        """Say whether the game has ended."""
        return self._ale.game_over()

    def read_rgb(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return the screen (H, W, 3) uint8, written to `out` where that is given."""
        if out is None:
            return self._ale.getScreenRGB()
        self._ale.getScreenRGB(out)
        return out

    def read_grayscale(self, out: np.ndarray) -> np.ndarray:
        """Write the brightness of the screen (H, W) uint8 to `out`; return it."""
        self._ale.getScreenGrayscale(out)
        return out

    def close(self) -> None:
        """Let go of the console; nothing works afterwards."""
        self._ale = self.act = self.count_lives = None

    def read_ram(self, out: np.ndarray) -> np.ndarray:
        """Write the console's memory (128,) uint8 to `out`; return it."""
        self._ale.getRAM(out)
        return out


def read_screen_size(game: str) -> tuple[int, int]:
    """Return (height, width) in pixels of a game's screen.

    Raises:
        ConfigError: The game has no ROM.
    """
    emulator = Emulator(game, repeat_action_probability=0.0, mode=None, difficulty=None)
    return emulator.screen_size


def count_actions(game: str, *, full_action_space: bool) -> int:
    """Return the number of a game's actions, or of the console's.

    Raises:
        ConfigError: The game has no ROM.
    """
    emulator = Emulator(game, repeat_action_probability=0.0, mode=None, difficulty=None)
    return len(emulator.list_actions(full=full_action_space))
