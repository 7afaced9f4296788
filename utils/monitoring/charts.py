"""A curve with its name, its scale and its timesteps, as lines of text."""

from __future__ import annotations

import math

from utils.loggers.number_text import format_value
from utils.monitoring.braille import braille_curve
from utils.monitoring.series import Series

_LABEL = 10
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def chart_lines(series: Series, *, precision: int, width: int, height: int) -> list[str]:
    """Draw a series.

    Args:
        series: What to draw.
        precision: Digits after the point of the scale.
        width: Characters in a line.
        height: Lines, the one with the timesteps included, >= 2.

    Returns:
        `height` lines at most `width` wide: the curve between its scale at the left and its
        timesteps below; one line that says why, where there is nothing to draw or no room.
    """
    finite = [y for y in series.ys if math.isfinite(y)]
    if not finite:
        return ["no value yet" if not series.n else "no finite value"]
    if width < _LABEL + 4:
        return ["too narrow"]
    low, high = min(finite), max(finite)
    curve = braille_curve(
        series.xs, series.ys, width=width - _LABEL - 1, height=height - 1, y_range=(low, high)
    )
    labels = [""] * len(curve)
    if high > low:
        labels[-1] = format_value(low, precision=precision)
        labels[0] = format_value(high, precision=precision)
    else:
        labels[len(labels) // 2] = format_value(low, precision=precision)
    lines = [f"{label:>{_LABEL}}┤{line}" for label, line in zip(labels, curve, strict=True)]
    start, end = short_count(series.xs[0]), short_count(series.xs[-1])
    inner = width - _LABEL - 1
    axis = f"{start}{end:>{max(1, inner - len(start))}}"
    return [*lines, " " * (_LABEL + 1) + axis[:inner]]


def short_count(number: float) -> str:
    """Return `950`, `12.3k`, `4M`."""
    for size, unit in _UNITS:
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.0f}"
