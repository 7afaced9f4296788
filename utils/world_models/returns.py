"""Returns of dreams and of replayed sequences, on a GPU by one operation."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.returns.lambda_returns import lambda_returns as step_by_step
from utils.world_models.fused_steps import availability


def lambda_returns(
    *, reward: Tensor, discount: Tensor, next_value: Tensor, trace: float | Tensor
) -> Tensor:
    """Compute the mixture of n-step returns, (T, N); see `utils.returns.lambda_returns`."""
    parts = {"reward": reward, "discount": discount, "next_value": next_value, "trace": trace}
    has_gradient = torch.is_grad_enabled() and any(
        x.requires_grad for x in parts.values() if isinstance(x, Tensor)
    )
    if not has_gradient and availability.runs_fused(reward, width=len(reward)):
        from utils.world_models.fused_steps import dreams

        return dreams.lambda_returns(**parts)
    return step_by_step(**parts)
