"""Settings of prioritised sampling."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Priorities:
    """Proportional prioritisation (Schaul et al. 2016, section 3.3).

    P(i) = p_i^alpha / sum_k p_k^alpha with p_i = |error_i| + epsilon (equation 1).
    """

    alpha: float = 0.6
    """In [0, 1]; 0 is uniform."""
    epsilon: float = 1e-6
    """Keeps what was learned perfectly from never being seen again."""
