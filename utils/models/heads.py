"""Output layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.models.initialization import orthogonal_


def linear_head(input_dim: int, output_dim: int, *, gain: float | None) -> nn.Linear:
    """Build a linear output layer; `gain` is that of orthogonal weights, None keeps torch's own."""
    layer = nn.Linear(input_dim, output_dim)
    if gain is not None:
        orthogonal_(layer, gain=gain)
    return layer


class NormalHead(nn.Module):
    """Mean from the features, standard deviation from a parameter that no state changes."""

    def __init__(
        self, input_dim: int, action_dim: int, *, gain: float | None, log_std_init: float
    ) -> None:
        """Build the head.

        Args:
            input_dim: Width of the features.
            action_dim: Number of action dimensions A.
            gain: Gain of orthogonal weights, None for torch's own.
            log_std_init: Initial natural logarithm of the standard deviation.
        """
        super().__init__()
        self.mean = linear_head(input_dim, action_dim, gain=gain)
        self.log_std = nn.Parameter(torch.full((action_dim,), float(log_std_init)))

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Map (B, input_dim) to mean (B, A) and log_std (A,)."""
        return self.mean(features), self.log_std
