"""The temperature of a policy with an entropy bonus."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class Temperature(nn.Module):
    """A positive number, learnt by its logarithm or fixed."""

    def __init__(self, value: float, *, is_learnt: bool) -> None:
        """Begin at `value` > 0."""
        super().__init__()
        logarithm = torch.tensor(math.log(value), dtype=torch.float32)
        self.log_alpha = nn.Parameter(logarithm, requires_grad=is_learnt)

    def forward(self) -> Tensor:
        """Return the temperature, ()."""
        return self.log_alpha.exp()
