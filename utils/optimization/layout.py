"""How gradients, and what an optimiser knows, lie in memory: as the parameters do.

A fused step walks through all of them at once, number by number: on a CPU it takes wrong numbers
where something lies otherwise.
"""

from __future__ import annotations

import torch
from torch import Tensor


def lies_like(x: Tensor, other: Tensor) -> bool:
    """Say whether the numbers of two tensors of one shape lie in memory in the same order."""
    strides = zip(x.shape, x.stride(), other.stride(), strict=True)
    return all(n == 1 or mine == its for n, mine, its in strides)


def lay_like(x: Tensor, other: Tensor) -> Tensor:
    """Return `x`, copied if its numbers do not lie in memory as those of `other` do."""
    return x if lies_like(x, other) else torch.empty_like(other, dtype=x.dtype).copy_(x)


def lay_like_parameters(optimizer: torch.optim.Optimizer) -> None:
    """Let what is known of a parameter lie in memory as the parameter does.

    A state that was read may come from another device, where the weights of convolutions lie
    otherwise.
    """
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            is_alike = isinstance(value, Tensor) and value.shape == parameter.shape
            if is_alike:
                state[key] = lay_like(value, parameter)
