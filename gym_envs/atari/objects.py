"""Tables that tell from a console's memory where the objects of a game are.

A pixel has x from 0 (left) to 159 and y from 0 (top) to 209; an object is where its upper left
corner is. The bytes were found by comparing the memory with the screen, and a test does it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from utils.errors import ConfigError

_PIXELS_PER_UNIT = 80.0  # of positions: the screen is two units wide
_SPEED_UNIT = 16.0  # pixels a step: about as fast as anything moves in four frames
_BOUND = 16.0  # a byte spans 256 pixels, so a speed is at most 16 units


@dataclass(frozen=True, kw_only=True, slots=True)
class Coordinate:
    """One number of an object that moves.

    Attributes:
        label: What it is.
        byte: Where the memory holds it.
        offset: What is added to the byte for pixels.
        center: Pixel that counts as 0.
        is_present: Given the memory, whether the object is there; None where it always is.
    """

    label: str
    byte: int
    offset: int
    center: int
    is_present: Callable[[np.ndarray], bool] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """A number of things, as a fraction of how many there can be.

    Attributes:
        label: What is counted.
        read: Counts it in the memory.
        most: What counts as 1.
    """

    label: str
    read: Callable[[np.ndarray], int]
    most: int


class ObjectReader:
    """Reads the objects of one game.

    Attributes:
        labels: Names of the features, in order.
        space: Their space.
    """

    def __init__(self, coordinates: tuple[Coordinate, ...], counts: tuple[Count, ...]) -> None:
        self._coordinates, self._counts = coordinates, counts
        self._bytes = np.array([c.byte for c in coordinates])
        self._offsets = np.array([c.offset for c in coordinates], np.float32)
        self._centers = np.array([c.center for c in coordinates], np.float32)
        self._rules = [(i, c.is_present) for i, c in enumerate(coordinates) if c.is_present]
        self.labels = (
            *(c.label for c in coordinates),
            *(f"{c.label} speed" for c in coordinates),
            *(c.label for c in counts),
        )
        self.space = spaces.Box(-_BOUND, _BOUND, (len(self.labels),), np.float32)

    def read_pixels(self, ram: np.ndarray) -> np.ndarray:
        """Return the coordinates in pixels, (m,) float32; NaN where an object is not there.

        Args:
            ram: (128,) uint8.
        """
        pixels = ram[self._bytes] + self._offsets
        for i, is_present in self._rules:
            if not is_present(ram):
                pixels[i] = np.nan
        return pixels

    def read_positions(self, ram: np.ndarray) -> np.ndarray:
        """Return coordinates in pixels and counts as fractions, one after another, float32."""
        fractions = [count.read(ram) / count.most for count in self._counts]
        return np.append(self.read_pixels(ram), np.array(fractions, np.float32))

    def build_features(self, older: np.ndarray, newer: np.ndarray) -> np.ndarray:
        """Return the features of two readings of `read_positions` that follow on each other.

        An object that is not there is at 0 and at rest; so is one, at first, that was not there.

        Returns:
            (k,) float32: coordinates in half widths of the screen from their centres, speeds in
            16 pixels a step, counts.
        """
        m = len(self._bytes)
        positions = (newer[:m] - self._centers) / _PIXELS_PER_UNIT
        speeds = (newer[:m] - older[:m]) / _SPEED_UNIT
        return np.nan_to_num(np.concatenate((positions, speeds, newer[m:])), copy=False)


def list_games() -> tuple[str, ...]:
    """Return the names of the games that have objects, sorted."""
    return tuple(sorted(_READERS))


def find_object_reader(game: str) -> ObjectReader:
    """Return the reader of a game's objects.

    Raises:
        ConfigError: The game has none; those that have are named.
    """
    if game not in _READERS:
        raise ConfigError(
            f"env_kwargs.obs_type: objects: there is no table of the objects of {game}, only of "
            f"{' and '.join(list_games())}; use rgb, grayscale or ram"
        )
    return _READERS[game]


def _is_pong_ball_there(ram: np.ndarray) -> bool:
    return ram[54] != 0  # between two points there is none


def _is_breakout_ball_there(ram: np.ndarray) -> bool:
    return ram[101] != 0  # it waits for FIRE


def _count_bricks(ram: np.ndarray) -> int:
    """Count the bricks: two bits each in the first 36 bytes, where 24 bits are of the walls."""
    return (int(np.bitwise_count(ram[:36]).sum()) - 24) // 2


_READERS = {
    "pong": ObjectReader(
        (
            Coordinate(
                label="ball x", byte=49, offset=-49, center=80, is_present=_is_pong_ball_there
            ),
            Coordinate(
                label="ball y", byte=54, offset=-14, center=114, is_present=_is_pong_ball_there
            ),
            Coordinate(label="player y", byte=51, offset=-13, center=107),
            Coordinate(label="opponent y", byte=50, offset=-15, center=107),
        ),
        (Count(label="ball in play", read=_is_pong_ball_there, most=1),),
    ),
    "breakout": ObjectReader(
        (
            Coordinate(
                label="ball x", byte=99, offset=-49, center=80, is_present=_is_breakout_ball_there
            ),
            Coordinate(
                label="ball y", byte=101, offset=9, center=114, is_present=_is_breakout_ball_there
            ),
            Coordinate(label="paddle x", byte=72, offset=-47, center=72),
        ),
        (
            Count(label="ball in play", read=_is_breakout_ball_there, most=1),
            Count(label="lives", read=lambda ram: int(ram[57]), most=5),
            Count(label="bricks", read=_count_bricks, most=108),
        ),
    ),
}
