"""The mathematics that physics is written in, for plain Python numbers.

Whoever compiles physics for something else brings the same names: `MATH_NAMES`.
"""

from __future__ import annotations

from math import cos, floor, sin

__all__ = ["clip", "cos", "floor", "sin", "where"]

MATH_NAMES = tuple(__all__)


def where(condition: bool, if_true: float, if_false: float) -> float:
    """Return `if_true` where the condition holds, else `if_false`; both are evaluated."""
    return if_true if condition else if_false


def clip(x: float, low: float, high: float) -> float:
    """Return x limited to [low, high]."""
    return min(max(x, low), high)
