"""Powers of a discount, the same numbers wherever they are used."""

from __future__ import annotations


def discount_powers(gamma: float, n: int) -> list[float]:
    """Return gamma^0 to gamma^n, each the one before times gamma."""
    powers = [1.0]
    for _ in range(n):
        powers.append(powers[-1] * gamma)
    return powers
