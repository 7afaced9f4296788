"""Pictures to features and back."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.errors import ConfigError
from utils.models.mlp import ACTIVATIONS
from utils.models.triton_support import why_no_triton
from utils.world_models.layers import (
    NORM_EPSILON,
    BlockLinear,
    ChannelRMSNorm,
    build_linear,
    build_norm,
    init_truncated_,
)
from utils.world_models.phased_convolutions import KERNEL, DoublingConv2d, PhasedConv2d

_POOLED_WIDTHS = (2, 3, 4, 4)
_STRIDED_WIDTHS = (1, 2, 4, 8)
_SMALLEST, _LARGEST = 4, 8


def count_halvings(shape: tuple[int, int, int]) -> int:
    """Return how often the convolutions halve pictures (C, H, W), at most four times.

    Raises:
        ConfigError: What is left would not be 4 to 8 pixels wide and high.
    """
    sides, n = shape[1:], 0
    while n < len(_POOLED_WIDTHS) and all(
        side % 2 ** (n + 1) == 0 and side // 2 ** (n + 1) >= _SMALLEST for side in sides
    ):
        n += 1
    if n == 0 or any(side // 2**n > _LARGEST for side in sides):
        raise ConfigError(
            f"pictures of {sides[0]} x {sides[1]} pixels cannot be halved down to "
            f"{_SMALLEST} to {_LARGEST}: set resize_obs, for instance to [64, 64]"
        )
    return n


def _begun(layer: nn.Conv2d) -> nn.Conv2d:
    """Return a convolution of 5 x 5 with truncated normal weights and zero biases."""
    init_truncated_(layer.weight, fan_in=layer.in_channels * KERNEL**2)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


class PooledEncoder(nn.Module):
    """Convolutions of 5 x 5, each followed by a maximum over 2 x 2, channel norm and activation.

    Hafner et al. 2025, "Mastering diverse control tasks through world models", methods.
    """

    def __init__(self, shape: tuple[int, int, int], *, depth: int, activation: str) -> None:
        """Build the layers.

        Args:
            shape: (C, H, W) of pictures.
            depth: Half the channels of the first convolution.
            activation: Key of `ACTIVATIONS`.
        """
        super().__init__()
        n = count_halvings(shape)
        widths = [shape[0], *(depth * factor for factor in _POOLED_WIDTHS[:n])]
        layers: list[nn.Module] = []
        for a, b in pairwise(widths):
            layers += [_begun(PhasedConv2d(a, b)), nn.MaxPool2d(2), ChannelRMSNorm(b)]
            layers.append(ACTIVATIONS[activation]())
        self.layers = nn.Sequential(*layers)
        self.output_dim = widths[-1] * (shape[1] >> n) * (shape[2] >> n)

    def forward(self, picture: Tensor) -> Tensor:
        """Map (B, C, H, W) in [0, 1] to (B, output_dim)."""
        x = _channels_last(picture - 0.5)
        for first in range(0, len(self.layers), 4):
            convolution, _, norm, activation = self.layers[first : first + 4]
            x = _refined(convolution(x), norm, activation, pools=True)
        return x.flatten(1)


class StridedEncoder(nn.Module):
    """Four convolutions of 4 x 4 with stride 2, for pictures of 64 x 64.

    Ha and Schmidhuber 2018, "World models", appendix A; so in PlaNet and the first two Dreamers.
    """

    def __init__(self, shape: tuple[int, int, int], *, depth: int, activation: str) -> None:
        """Build the layers; see `PooledEncoder`."""
        super().__init__()
        _check_strided(shape)
        widths = [shape[0], *(depth * factor for factor in _STRIDED_WIDTHS)]
        layers: list[nn.Module] = []
        for a, b in pairwise(widths):
            layers += [nn.Conv2d(a, b, 4, stride=2), ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers)
        self.output_dim = widths[-1] * 2 * 2

    def forward(self, picture: Tensor) -> Tensor:
        """Map (B, C, 64, 64) in [0, 1] to (B, output_dim)."""
        return self.layers(picture - 0.5).flatten(1)


def _check_strided(shape: tuple[int, int, int]) -> None:
    if shape[1:] != (64, 64):
        raise ConfigError(
            f"pictures of {shape[1]} x {shape[2]} pixels do not fit policy_kwargs.pictures: "
            "strided, which is made for 64 x 64: set resize_obs: [64, 64], or pictures: pooled"
        )


class PooledDecoder(nn.Module):
    """The way back of `PooledEncoder`: pictures are doubled by repetition between convolutions."""

    def __init__(
        self,
        deter: int,
        stoch: int,
        shape: tuple[int, int, int],
        *,
        depth: int,
        units: int,
        n_blocks: int,
        norm: str,
        activation: str,
    ) -> None:
        """Build the layers.

        Args:
            deter: Width of deterministic states.
            stoch: Width of latents.
            shape: (C, H, W) of pictures.
            depth: See `PooledEncoder`.
            units: Half the width of the layer that reads the latent.
            n_blocks: Blocks of the layer that reads the deterministic state.
            norm: See `build_norm`.
            activation: Key of `ACTIVATIONS`.
        """
        super().__init__()
        n = count_halvings(shape)
        widths = [depth * factor for factor in _POOLED_WIDTHS[:n]]
        self._deter, self._seed = deter, (widths[-1], shape[1] >> n, shape[2] >> n)
        size = widths[-1] * self._seed[1] * self._seed[2]
        self.of_deter = BlockLinear(deter, size, n_blocks=n_blocks)
        self.of_stoch = nn.Sequential(
            build_linear(stoch, 2 * units),
            build_norm(norm, 2 * units),
            ACTIVATIONS[activation](),
            build_linear(2 * units, size),
        )
        self.seed_norm = ChannelRMSNorm(widths[-1])
        self.activation = ACTIVATIONS[activation]()
        self.convolutions = nn.ModuleList(
            _begun(DoublingConv2d(a, b)) for a, b in zip(widths[:0:-1], widths[-2::-1], strict=True)
        )
        self.norms = nn.ModuleList(ChannelRMSNorm(b) for b in widths[-2::-1])
        self.output = _begun(DoublingConv2d(widths[0], shape[0]))

    def forward(self, features: Tensor) -> Tensor:
        """Map (B, deter + stoch) to pictures (B, C, H, W) in [0, 1], float32."""
        deter, stoch = features.split([self._deter, features.shape[-1] - self._deter], dim=-1)
        seed = (self.of_deter(deter) + self.of_stoch(stoch)).unflatten(-1, self._seed)
        x = _refined(_channels_last(seed), self.seed_norm, self.activation)
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = _refined(convolution(x), norm, self.activation)
        return self.output(x).float().sigmoid()


def _channels_last(x: Tensor) -> Tensor:
    """Return pictures (B, C, H, W) with the channels of a place side by side in a GPU's memory.

    So convolutions of tensor cores and norms over channels need no copy in another order.
    """
    return x.contiguous(memory_format=torch.channels_last) if x.is_cuda else x


def _refined(x: Tensor, norm: nn.Module, activation: nn.Module, *, pools: bool = False) -> Tensor:
    """Return what comes between two convolutions of pictures (B, C, H, W).

    Args:
        x: Output of a convolution.
        norm: Over its channels.
        activation: Applied next.
        pools: Take the maximum of 2 x 2 places first.
    """
    if (
        x.is_cuda
        and isinstance(activation, nn.SiLU)
        and isinstance(norm, ChannelRMSNorm)
        and why_no_triton() is None
    ):
        from utils.world_models.fused_pictures import refine_pictures

        weight = norm.norm.weight
        return refine_pictures(x, weight, eps=NORM_EPSILON, pools=pools)
    if pools:
        x = F.max_pool2d(x, 2)
    return activation(norm(x))


class StridedDecoder(nn.Module):
    """Four transposed convolutions to pictures of 64 x 64; see `StridedEncoder`."""

    def __init__(
        self, n_features: int, shape: tuple[int, int, int], *, depth: int, activation: str
    ) -> None:
        """Build the layers; see `PooledDecoder`."""
        super().__init__()
        _check_strided(shape)
        self.read = nn.Linear(n_features, 32 * depth)
        widths = [32 * depth, *(depth * factor for factor in (4, 2, 1)), shape[0]]
        layers: list[nn.Module] = []
        for a, b, kernel in zip(widths[:-1], widths[1:], (5, 5, 6, 6), strict=True):
            layers += [nn.ConvTranspose2d(a, b, kernel, stride=2), ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, features: Tensor) -> Tensor:
        """Map (B, F) to pictures (B, C, 64, 64), around [0, 1], float32."""
        seed = self.read(features).unsqueeze(-1).unsqueeze(-1)
        return self.layers(seed).float() + 0.5


def picture_loss(predicted: Tensor, target: Tensor) -> Tensor:
    """Return the squared error summed over the pixels, (...) float32.

    Args:
        predicted: (..., C, H, W)
        target: (..., C, H, W) in [0, 1].
    """
    assert predicted.shape == target.shape, (predicted.shape, target.shape)
    return torch.square(predicted - target).flatten(-3).sum(dim=-1)
