"""Short numbers at the axes of a picture."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.ticker import Formatter

_MOST_DIGITS = 6
_BLUR = 1e-3  # of what the numbers span
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_PLAIN_BELOW, _WORDLESS_FROM = 1e4, 1e12


def short_numbers(values: Sequence[float]) -> list[str]:
    """Write numbers that stand side by side, with as few digits as each needs: `0.25`, `20k`."""
    largest = max(map(abs, values), default=0.0)
    size, unit = 1.0, ""
    if _PLAIN_BELOW <= largest < _WORDLESS_FROM:
        size, unit = next((size, unit) for size, unit in _UNITS if largest >= size)
    shown = [value / size for value in values]
    blur = _BLUR * (max(shown) - min(shown)) if shown else 0.0
    texts = [_shortest(value, blur=blur) for value in shown]
    return [text if text == "0" else text + unit for text in texts]


def _shortest(value: float, *, blur: float) -> str:
    """Return the fewest digits within `blur` of a number."""
    if abs(value) <= blur:
        return "0"
    texts = (f"{value:.{digits}g}" for digits in range(1, _MOST_DIGITS + 1))
    near = (text for text in texts if abs(float(text) - value) <= blur)
    text = next(near, f"{value:.{_MOST_DIGITS}g}")
    # It may have more digits before the point than it needs: 2e+03.
    return f"{float(text):.0f}" if "e+" in text and abs(value) < _WORDLESS_FROM else text


class ShortFormatter(Formatter):
    """Labels the ticks of an axis with `short_numbers`."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Write one number, as the cursor of a window shows it."""
        del pos
        return f"{x:g}"

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Write all numbers of an axis."""
        return short_numbers([float(value) for value in values])
