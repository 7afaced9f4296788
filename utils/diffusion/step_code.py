"""The step of the noise as a vector."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def sinusoids(step: Tensor, width: int) -> Tensor:
    """Return sines and cosines of a step at `width / 2` frequencies from 1 to 1e-4, (B, width).

    Vaswani et al. 2017, "Attention is all you need", section 3.5.

    Args:
        step: (B,) int64.
        width: Even, >= 4.
    """
    half = width // 2
    exponent = torch.arange(half, device=step.device, dtype=torch.float32) / (half - 1)
    angle = step.to(torch.float32).unsqueeze(-1) * torch.exp(-math.log(10_000.0) * exponent)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


class StepCode(nn.Module):
    """Sinusoids of the step and two layers."""

    def __init__(self, width: int) -> None:
        """Build layers of a width."""
        super().__init__()
        self._width = width
        self.layers = nn.Sequential(
            nn.Linear(width, 4 * width), nn.Mish(), nn.Linear(4 * width, width)
        )

    def forward(self, step: Tensor) -> Tensor:
        """Map (B,) int64 to (B, width)."""
        return self.layers(sinusoids(step, self._width))
