"""A curve in one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = "_.-=+*%#"


def sparkline(values: Sequence[float], *, width: int, is_ascii: bool = False) -> str:
    """Draw a curve, scaled from its lowest to its highest point.

    Args:
        values: Numbers, oldest first. More than fit are averaged in pieces of equal length. A
            piece that is not finite is drawn as `!`.
        width: The most characters to draw, >= 0.
        is_ascii: Draw with ASCII characters only.

    Returns:
        At most one character per value. A flat curve lies in the middle.
    """
    shown = _shorten(list(values), width) if width > 0 else []
    levels = _ASCII if is_ascii else _BLOCKS
    finite = [value for value in shown if math.isfinite(value)]
    if not finite:
        return "!" * len(shown)
    low, high = min(finite), max(finite)
    span = high - low
    if not 0.0 < span < math.inf:
        return "".join(levels[3] if math.isfinite(value) else "!" for value in shown)
    scale = (len(levels) - 1) / span
    return "".join(
        levels[int((value - low) * scale + 0.5)] if math.isfinite(value) else "!" for value in shown
    )


def _shorten(values: list[float], width: int) -> list[float]:
    """Average pieces of equal length, counted from the newest; the oldest remainder is left out."""
    size = -(-len(values) // width)
    if size <= 1:
        return values
    start = len(values) % size
    return [sum(values[i : i + size]) / size for i in range(start, len(values), size)]
