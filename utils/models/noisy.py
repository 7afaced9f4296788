"""Linear layers that explore by noise in their weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

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

    def forward(self, features: Tensor, *, is_noisy: bool) -> Tensor:
        """Map (B, input_dim) to (B, output_dim) with the noise as drawn, or by the means."""
        plain = F.linear(features, self.weight, self.bias)
        if not is_noisy:
            return plain
        # f(e_out) f(e_in)^T x is computed from the right: no matrix of noise is made.
        noise = F.linear(features * self.noise_in, self.weight_std, self.bias_std)
        return torch.addcmul(plain, noise, self.noise_out)


def draw_noise(layers: Sequence[NoisyLinear], generator: torch.Generator | None) -> None:
    """Draw the noise of layers that holds from now on, in place.

    All of it is drawn at once, of which each layer takes its part: on a GPU the price is that of
    the operations, however little they do.

    Args:
        layers: On one device.
        generator: Of that device; torch's global one if None.
    """
    noises = [noise for layer in layers for noise in (layer.noise_in, layer.noise_out)]
    sizes = [len(noise) for noise in noises]
    drawn = torch.randn(sum(sizes), generator=generator, device=noises[0].device)
    scaled = drawn.abs().sqrt_().copysign_(drawn)
    torch._foreach_copy_(noises, scaled.split(sizes))
