"""How the values that were recorded for one key in one epoch become one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean of at least one value."""
    return sum(values) / len(values)


def last(values: Sequence[float]) -> float:
    """Return the value that was recorded last."""
    return values[-1]


def smallest(values: Sequence[float]) -> float:
    """Return the minimum; NaN if any value is."""
    return min(values) if all(v == v for v in values) else float("nan")


def largest(values: Sequence[float]) -> float:
    """Return the maximum; NaN if any value is."""
    return max(values) if all(v == v for v in values) else float("nan")


REDUCERS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": mean,
    "last": last,
    "min": smallest,
    "max": largest,
    "sum": sum,
}
