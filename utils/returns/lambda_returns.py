"""Returns of imagined and of replayed experience."""

from __future__ import annotations

import torch
from torch import Tensor


def lambda_returns(
    *, reward: Tensor, discount: Tensor, next_value: Tensor, trace: float | Tensor
) -> Tensor:
    """Compute the mixture of n-step returns.

    ``R[t] = reward[t] + discount[t] * ((1 - trace[t]) * next_value[t] + trace[t] * R[t + 1])``,
    and the last one bootstraps with its `next_value` alone.

    Hafner et al. 2025, "Mastering diverse control tasks through world models", equation 4; Sutton
    and Barto 2018, equation 12.20.

    Args:
        reward: (T, N) of the step from t to t + 1.
        discount: (T, N) of what follows the step: gamma, or 0 where the MDP ended with it.
        next_value: (T, N) value of what the step led to.
        trace: lambda in [0, 1], or (T, N) of it: 0 where an episode was cut off with the step.

    Returns:
        (T, N)
    """
    assert reward.shape == discount.shape == next_value.shape, (
        reward.shape,
        discount.shape,
        next_value.shape,
    )
    bootstrap = reward + discount * next_value * (1.0 - trace)
    decay = discount * trace
    running, out = next_value[-1], []
    for start, factor in zip(reversed(bootstrap.unbind(0)), reversed(decay.unbind(0)), strict=True):
        running = torch.addcmul(start, factor, running)
        out.append(running)
    return torch.stack(out[::-1])
