"""Numbers as people read them in a table."""

from __future__ import annotations

import math


def format_value(value: float, *, precision: int) -> str:
    """Return a metric's value as text of at most about ten characters.

    Args:
        value: Any float.
        precision: Digits after the point.

    Returns:
        Fixed point with thousands separators; scientific where fixed point would show only zeros
        or more than eight digits; `nan`, `inf`, `-inf`.
    """
    if not math.isfinite(value):
        return str(value)
    if value == 0.0:
        return "0"
    size = abs(value)
    if precision > 0 and (size >= 1e7 or 0.0 < size < 0.5 * 10.0**-precision):
        return f"{value:.2e}"
    if size >= 1e5:
        return f"{value:,.0f}"
    return f"{value:,.{precision}f}"


def format_duration(seconds: float) -> str:
    """Return `0:07`, `12:34` or `1:02:03`; `--:--` for a duration that is not known."""
    if not math.isfinite(seconds):
        return "--:--"
    minutes, second = divmod(int(seconds + 0.5), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def format_speed(per_second: float) -> str:
    """Return `12,345`, or `0.53`: two digits where there are no more before the point."""
    return f"{per_second:,.0f}" if per_second >= 9.95 else f"{per_second:.2g}"
