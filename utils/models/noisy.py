"""Linear layers that explore by noise in their weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class NoisyLinear(nn.Module):
    """A linear layer whose weights are drawn around learnt means with learnt deviations.

    ``weight = mean + std * f(e_out) f(e_in)^T`` and ``bias = mean + std * f(e_out)`` with
    ``f(x) = sign(x) sqrt(|x|)`` and standard normal e: factorised noise, equations 9 to 11 of
    Fortunato et al. 2018, "Noisy networks for exploration". Without a draw the noise is 0.
    """

    def __init__(self, input_dim: int, output_dim: int, *, std: float) -> None:
        """Draw the means as a linear layer's weights, from torch's global generator.

        Args:
            input_dim: Width of the input.
            output_dim: Width of the output.
            std: Deviation of the weights at the start, over sqrt(input_dim).
        """
        super().__init__()
        bound = 1.0 / math.sqrt(input_dim)
        self.weight = nn.Parameter(torch.empty(output_dim, input_dim).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(output_dim).uniform_(-bound, bound))
        self.weight_std = nn.Parameter(torch.full((output_dim, input_dim), std * bound))
        self.bias_std = nn.Parameter(torch.full((output_dim,), std * bound))
        # Drawn anew before each use, so that nothing of it is to be saved.
        self.register_buffer("noise_in", torch.zeros(input_dim), persistent=False)
        self.register_buffer("noise_out", torch.zeros(output_dim), persistent=False)

    def draw_noise(self, generator: torch.Generator | None) -> None:
        """Draw the noise that holds from now on, in place."""
        for noise in (self.noise_in, self.noise_out):
            noise.normal_(generator=generator)
            noise.copy_(noise.sign() * noise.abs().sqrt())

    def forward(self, features: Tensor, *, is_noisy: bool) -> Tensor:
        """Map (B, input_dim) to (B, output_dim) with the noise as drawn, or by the means."""
        if not is_noisy:
            return F.linear(features, self.weight, self.bias)
        # f(e_out) f(e_in)^T x is computed from the right: no matrix of noise is made.
        noise = F.linear(features * self.noise_in, self.weight_std) + self.bias_std
        return F.linear(features, self.weight, self.bias) + noise * self.noise_out
