"""Shift and scale a batch of numbers."""

from __future__ import annotations

from torch import Tensor


def standardize(x: Tensor) -> Tensor:
    """Shift to mean 0 and scale to standard deviation 1: ``(x - mean) / (std + 1e-8)``.

    The standard deviation divides by n - 1. A single number has no spread and is returned as it
    is, so that a batch of one can never become NaN.

    Args:
        x: Float tensor of any shape.
    """
    if x.numel() < 2:
        return x
    return (x - x.mean()) / (x.std() + 1e-8)
