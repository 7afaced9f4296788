"""Curves drawn with braille characters: two by four points in each."""

from __future__ import annotations

import math
from collections.abc import Sequence

_FIRST = 0x2800
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def braille_curve(
    xs: Sequence[float],
    ys: Sequence[float],
    *,
    width: int,
    height: int,
    y_range: tuple[float, float],
) -> list[str]:
    """Draw one curve, its first x at the left edge and its last at the right.

    Args:
        xs: Rising numbers.
        ys: As many; one that is not finite interrupts the curve.
        width: Characters in a line, >= 1.
        height: Lines, >= 1.
        y_range: What lies at the lower and the upper edge; equal ones put the curve in the middle.

    Returns:
        `height` lines of `width` characters.
    """
    n_columns, n_rows = 2 * width, 4 * height
    cells = [[0] * width for _ in range(height)]
    low, high = y_range
    first, span = (xs[0], xs[-1] - xs[0]) if xs else (0.0, 0.0)
    previous: tuple[int, int] | None = None
    for x, y in zip(xs, ys, strict=True):
        if not math.isfinite(y):
            previous = None
            continue
        column = round((x - first) / span * (n_columns - 1)) if span > 0 else 0
        level = (y - low) / (high - low) if high > low else 0.5
        row = round((1.0 - min(1.0, max(0.0, level))) * (n_rows - 1))
        for at_column, at_row in _line(previous or (column, row), (column, row)):
            cells[at_row // 4][at_column // 2] |= _DOTS[at_column % 2][at_row % 4]
        previous = column, row
    return ["".join(chr(_FIRST + cell) for cell in line) for line in cells]


def _line(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the points from `start` to `end`, both included, without a gap."""
    n_steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    return [
        (
            round(start[0] + (end[0] - start[0]) * i / n_steps),
            round(start[1] + (end[1] - start[1]) * i / n_steps),
        )
        for i in range(n_steps + 1)
    ]
