"""Shift and scale a batch of numbers."""

from __future__ import annotations

import torch
from torch import Tensor

ROUNDING_STEPS = 8
"""A spread of fewer steps of the floating-point grid than this is rounding, not variation."""


def standardize(x: Tensor, *, over: Tensor | None = None) -> Tensor:
    """Shift to mean 0 and scale to standard deviation 1: ``(x - mean) / (std + 1e-8)``.

    The standard deviation divides by n - 1. A single number has no spread and is returned as it
    is, so that a batch of one can never become NaN. Numbers that differ by no more than their
    rounding become 0: scaled up to a spread of 1, the error of their mean would look like a signal.

    Args:
        x: Float tensor of any shape.
        over: The numbers that mean and deviation are taken of, where `x` is only a part of them;
            None: `x` itself.
    """
    over = x if over is None else over
    if over.numel() < 2:
        return x
    std, mean = torch.std_mean(over)
    varies = std > ROUNDING_STEPS * torch.finfo(x.dtype).eps * mean.abs()
    return torch.where(varies, (x - mean) / (std + 1e-8), 0.0)
