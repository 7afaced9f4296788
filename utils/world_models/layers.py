"""The layers that world models are made of."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.mlp import ACTIVATIONS
from utils.world_models.fused_steps import availability

NORM_EPSILON = 1e-4
_TRUNCATED_STD = 0.87962566103423978
"""Standard deviation of a standard normal distribution cut off at -2 and 2."""


def init_truncated_(weight: Tensor, *, fan_in: int, scale: float = 1.0) -> None:
    """Draw weights with deviation ``scale / sqrt(fan_in)``, none beyond two of the normal's own.

    Args:
        weight: Changed in place.
        fan_in: Width of the input.
        scale: 0 gives zeros.
    """
    if scale == 0.0:
        nn.init.zeros_(weight)
        return
    std = scale / (math.sqrt(fan_in) * _TRUNCATED_STD)
    nn.init.trunc_normal_(weight, std=std, a=-2.0 * std, b=2.0 * std)


def build_linear(input_dim: int, output_dim: int, *, scale: float = 1.0) -> nn.Linear:
    """Build a linear layer with truncated normal weights and zero biases."""
    layer = nn.Linear(input_dim, output_dim)
    init_truncated_(layer.weight, fan_in=input_dim, scale=scale)
    nn.init.zeros_(layer.bias)
    return layer


def widen(x: Tensor) -> Tensor:
    """Return numbers in float32 where they are in less."""
    return x if x.dtype == torch.float64 else x.float()


class RMSNorm(nn.Module):
    """``x / sqrt(mean(x^2) + 1e-4) * weight`` over the last dimension, in float32.

    Zhang and Sennrich 2019, "Root mean square layer normalization", equation 4.
    """

    def __init__(self, width: int) -> None:
        """Begin with weights of 1."""
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise (..., width), in the dtype of `x`."""
        return F.rms_norm(widen(x), self.weight.shape, self.weight, NORM_EPSILON).to(x.dtype)


class ChannelRMSNorm(nn.Module):
    """`RMSNorm` over the channels of pictures (B, C, H, W)."""

    def __init__(self, n_channels: int) -> None:
        """Begin with weights of 1."""
        super().__init__()
        self.norm = RMSNorm(n_channels)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise at each place of (B, C, H, W)."""
        return self.norm(x.movedim(1, -1)).movedim(-1, 1)


def build_norm(kind: str, width: int) -> nn.Module:
    """Build the norm of a layer's outputs: "rms", "layer" or "none"."""
    match kind:
        case "rms":
            return RMSNorm(width)
        case "layer":
            return nn.LayerNorm(width, eps=1e-3)
        case "none":
            return nn.Identity()
    raise AssertionError(kind)


class DenseLayer(nn.Module):
    """Linear, norm, activation."""

    def __init__(self, input_dim: int, output_dim: int, *, norm: str, activation: str) -> None:
        """Build the layer.

        Args:
            input_dim: Width of the input.
            output_dim: Width of the output.
            norm: "rms", "layer" or "none".
            activation: Key of `utils.models.mlp.ACTIVATIONS`.
        """
        super().__init__()
        self.linear = build_linear(input_dim, output_dim)
        self.norm = build_norm(norm, output_dim)
        self.activation = ACTIVATIONS[activation]()
        self._is_published = norm == "rms" and activation == "silu"

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., input_dim) to (..., output_dim)."""
        width = self.linear.out_features
        if self._is_published and availability.runs_fused(x, width=width):
            from utils.world_models.fused_steps.dense import dense_layer

            linear, weight = self.linear, self.norm.weight
            return dense_layer(x, linear.weight, linear.bias, weight, eps=NORM_EPSILON)
        return self.activation(self.norm(self.linear(x)))


def build_dense_stack(
    input_dim: int, width: int, *, n_layers: int, norm: str, activation: str
) -> nn.Sequential:
    """Build `n_layers` layers of one width; see `DenseLayer`."""
    widths = [input_dim, *[width] * n_layers]
    return nn.Sequential(
        *(DenseLayer(a, b, norm=norm, activation=activation) for a, b in pairwise(widths))
    )


class BlockLinear(nn.Module):
    """A linear layer whose weights are block-diagonal: each block of outputs reads a block."""

    def __init__(self, input_dim: int, output_dim: int, *, n_blocks: int) -> None:
        """Draw the weights; their deviation is that of a dense layer of the whole width.

        Args:
            input_dim: Width of the input, a multiple of `n_blocks`.
            output_dim: Width of the output, a multiple of `n_blocks`.
            n_blocks: Number of blocks (G).
        """
        super().__init__()
        assert input_dim % n_blocks == output_dim % n_blocks == 0, (input_dim, output_dim, n_blocks)
        self.n_blocks = n_blocks
        weight = torch.empty(n_blocks, input_dim // n_blocks, output_dim // n_blocks)
        init_truncated_(weight, fan_in=input_dim)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(output_dim))

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., input_dim) to (..., output_dim)."""
        rows = x.reshape(-1, self.n_blocks, self.weight.shape[1]).transpose(0, 1)
        out = torch.bmm(rows, self.weight.to(x.dtype)).transpose(0, 1)
        return out.reshape(*x.shape[:-1], -1) + self.bias.to(x.dtype)
