"""Whether two groups of a few independent values differ: Welch's test, and Holm's correction."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

_N_STRIPS = 4000


class Welch(NamedTuple):
    """A comparison of two means."""

    difference: float
    """Second mean minus first."""
    p_lower: float
    """How likely chance alone puts the second mean so far below the first; NaN where nobody can
    tell, for a group has one value or all values are equal."""


def welch_test(first: Sequence[float], second: Sequence[float]) -> Welch:
    """Compare two means whose groups may differ in size and spread.

    Welch 1947, "The generalization of Student's problem when several different population
    variances are involved": ``t = (m2 - m1) / sqrt(v1 / n1 + v2 / n2)`` with the degrees of
    freedom of Satterthwaite's formula. One-sided, for a fall. Without spread in either group the
    limit: 0 or 1.

    Args:
        first: One or more values.
        second: Likewise.
    """
    assert first, "no values"
    assert second, "no values"
    difference = statistics.fmean(second) - statistics.fmean(first)
    if min(len(first), len(second)) < 2:
        return Welch(difference, math.nan)
    parts = [statistics.variance(group) / len(group) for group in (first, second)]
    total = sum(parts)
    if total == 0.0:
        return Welch(difference, math.nan if difference == 0.0 else float(difference > 0.0))
    shares = zip(parts, (first, second), strict=True)
    degrees = total**2 / sum(part**2 / (len(group) - 1) for part, group in shares)
    return Welch(difference, student_t_below(difference / math.sqrt(total), degrees))


def student_t_below(t: float, degrees_of_freedom: float) -> float:
    """Return how likely a number of Student's t distribution is below t.

    With ``t = sqrt(nu) tan(a)`` the density becomes that of ``cos(a)^(nu - 1)`` on (-pi/2, pi/2),
    which is summed up by Simpson's rule.

    Args:
        t: Any number.
        degrees_of_freedom: nu >= 1, which need not be whole.
    """
    assert degrees_of_freedom >= 1.0 - 1e-9, degrees_of_freedom
    power = max(0.0, degrees_of_freedom - 1.0)
    angle = math.atan(abs(t) / math.sqrt(degrees_of_freedom))
    tail = _cosine_area(angle, power) / (2.0 * _cosine_area(0.0, power))
    return 1.0 - tail if t > 0 else tail


def _cosine_area(begin: float, power: float) -> float:
    """Return the area below ``cos(a)^power`` from an angle to pi/2."""
    width = (math.pi / 2.0 - begin) / _N_STRIPS
    total = 0.0
    for k in range(_N_STRIPS + 1):
        weight = 1 if k in (0, _N_STRIPS) else 4 if k % 2 else 2
        total += weight * max(0.0, math.cos(begin + k * width)) ** power
    return total * width / 3.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values that hold for all tests together; NaN stays and counts as no test.

    Holm 1979, "A simple sequentially rejective multiple test procedure": the k-th smallest of m is
    multiplied by m - k + 1, and none falls below the one before it.
    """
    known = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    corrected = list(p_values)
    least = 0.0
    for rank, (p, i) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        corrected[i] = least
    return corrected
