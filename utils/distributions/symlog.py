"""Symmetric logarithm: large numbers of either sign pressed together, small ones left as they are.

Hafner et al. 2025, "Mastering diverse control tasks through world models", equation 9.
"""

from __future__ import annotations

from torch import Tensor


def symlog(x: Tensor) -> Tensor:
    """Return ``sign(x) * ln(|x| + 1)``, of the shape of `x`."""
    return x.sign() * x.abs().log1p()


def symexp(x: Tensor) -> Tensor:
    """Return ``sign(x) * (exp(|x|) - 1)``, the inverse of `symlog`."""
    return x.sign() * x.abs().expm1()
