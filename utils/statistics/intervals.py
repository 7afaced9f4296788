"""Confidence intervals of a mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

_EXACT = {1: 12.7062, 2: 4.3027, 3: 3.1824}
_Z = 1.959964


def student_t_975(degrees_of_freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution.

    The expansion in powers of 1/n around the normal quantile z (Abramowitz and Stegun 1964,
    equation 26.7.5) is off by less than 0.3 % from 4 degrees on; below that the values are exact.

    Args:
        degrees_of_freedom: n >= 1.
    """
    n = degrees_of_freedom
    assert n >= 1, n
    if n in _EXACT:
        return _EXACT[n]
    z = _Z
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term / n**k for k, term in enumerate(terms))


def mean_half_width(values: Sequence[float]) -> float | None:
    """Return half the width of the 95 % interval of the mean of independent values.

    ``t * s / sqrt(n)`` with s the standard deviation (dividing by n - 1) and t Student's quantile
    for n - 1 degrees of freedom.

    Args:
        values: Returns of episodes, or means of seeds.

    Returns:
        The half width in the unit of the values; None for fewer than two, which have no spread.
    """
    n = len(values)
    if n < 2:
        return None
    mean = sum(values) / n
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    return student_t_975(n - 1) * math.sqrt(variance / n)
