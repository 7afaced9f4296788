"""How much of the returns' variance a critic explains."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.returns.standardize import ROUNDING_STEPS


def explained_variance(*, value: Tensor, returns: Tensor) -> Tensor:
    """Compute ``1 - Var(returns - value) / Var(returns)``.

    1 is a perfect critic, 0 one that is no better than a constant, below 0 worse than a constant.

    Args:
        value: Float tensor of any shape.
        returns: Float tensor of the same shape.

    Returns:
        A scalar; NaN where the returns vary by no more than their rounding (the ratio is
        undefined).
    """
    assert value.shape == returns.shape, (value.shape, returns.shape)
    variance, mean = torch.var_mean(returns, correction=0)
    rounding = ROUNDING_STEPS * torch.finfo(returns.dtype).eps * mean.abs()
    residual = (returns - value).var(correction=0)
    return torch.where(variance > rounding.square(), 1.0 - residual / variance, torch.nan)
