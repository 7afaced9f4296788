"""What is shown at one moment, before it becomes pixels or characters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Tile(NamedTuple):
    """One episode's picture."""

    picture: np.ndarray
    """(H, W, 3) uint8."""
    caption: str = ""
    """Below it; empty for none."""
    is_dimmed: bool = False
    """The episode has ended."""


class PanelRow(NamedTuple):
    """What the policy thinks of one choice, and which keys take it."""

    keys: str
    label: str
    fraction: float | None
    """Length of its bar, 0 to 1; None for no bar."""
    number: str
    is_suggested: bool = False
    is_forbidden: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """The text beside the picture while a person plays."""

    title: str
    rows: tuple[PanelRow, ...]
    facts: tuple[str, ...]
    """Lines below the rows."""
    message: str = ""
    """What the person should know now, below the facts."""

    def fitting(self, n_rows: int) -> tuple[PanelRow, ...]:
        """Return at most so many rows: the first ones, what is suggested, how many are left out."""
        if len(self.rows) <= n_rows:
            return self.rows
        first = self.rows[: max(0, n_rows - 2)]
        rest = self.rows[len(first) :]
        suggested = tuple(row for row in rest if row.is_suggested)[:1]
        n_more = len(rest) - len(suggested)
        return (*first, *suggested, PanelRow("", f"and {n_more} more", None, ""))[:n_rows]


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """Pictures with text."""

    tiles: tuple[Tile, ...]
    caption: str
    """One line for all."""
    hint: str = ""
    """Which keys do what, one line; no part of a recording."""
    panel: Panel | None = None
    is_end: bool = False
    """The last state of all that are shown: drawn even where there is no time for it."""


def count_columns(n_tiles: int) -> int:
    """Return how many tiles lie in a row: as many as there are rows, or one more."""
    return math.ceil(math.sqrt(n_tiles))


def arrange(tiles: tuple[Tile, ...]) -> list[tuple[Tile, ...]]:
    """Return the tiles row by row; the last row may be shorter."""
    n_columns = count_columns(len(tiles))
    return [tiles[k : k + n_columns] for k in range(0, len(tiles), n_columns)]


def dim(picture: np.ndarray) -> np.ndarray:
    """Return a picture (H, W, 3) uint8 at a third of its brightness."""
    return (picture // 3).astype(np.uint8)
