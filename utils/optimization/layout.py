"""How what an optimiser knows lies in memory."""

from __future__ import annotations

import torch
from torch import Tensor


def lay_like_parameters(optimizer: torch.optim.Optimizer) -> None:
    """Let what is known of a parameter lie in memory as the parameter does.

    A fused step walks through both at once. A state that was read may come from another device,
    where the weights of convolutions lie otherwise.
    """
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            is_alike = isinstance(value, Tensor) and value.shape == parameter.shape
            if is_alike and value.stride() != parameter.stride():
                state[key] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)
