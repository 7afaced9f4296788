"""From an observation to the latent state of a model that reconstructs nothing."""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.errors import ConfigError
from utils.world_models.latent_layers import SimplexNorm, build_layers
from utils.world_models.observation_parts import Observation, ObservationParts, PicturePart

_CONVOLUTIONS = ((7, 2), (5, 2), (3, 2), (3, 1))
"""Width and stride of each."""


class LatentEncoder(nn.Module):
    """Numbers by dense layers, pictures by four convolutions; norm and simplices at the end.

    Hansen et al. 2024, "TD-MPC2: Scalable, robust world models for continuous control", appendix.
    Where a single picture gives as many features as the latent state has, they are the latent
    state; else one more layer leads there.
    """

    def __init__(
        self,
        space: gym.Space,
        *,
        width: int,
        n_layers: int,
        latent_dim: int,
        channels: int,
        group: int,
        norm: str,
        activation: str,
    ) -> None:
        """Build the encoder of a single observation space.

        Args:
            space: Of the observations.
            width: Of the layers that read numbers.
            n_layers: Layers that read numbers, the last one included, >= 2.
            latent_dim: Width of the latent state (L).
            channels: Of every convolution.
            group: Size of the simplices; 0 for none.
            norm: "layer" or "none".
            activation: See `build_activation`.

        Raises:
            ConfigError: A part that it cannot read.
        """
        super().__init__()
        self.parts = ObservationParts(space)
        self.pictures = nn.ModuleList(
            _build_convolutions(part, channels) for part in self.parts.pictures
        )
        n_features = sum(_count_features(part, channels) for part in self.parts.pictures)
        kinds = {"norm": norm, "activation": activation}
        output = SimplexNorm(group) if group else nn.Identity()
        self.vector: nn.Module | None = None
        widths = [width] * (n_layers - 1)
        if self.parts.width and self.parts.pictures:
            self.vector = build_layers([self.parts.width, *widths], output=nn.Identity(), **kinds)
            n_features += width
        if not self.parts.pictures:
            self.output: nn.Module = build_layers(
                [self.parts.width, *widths, latent_dim], output=output, **kinds
            )
        elif n_features == latent_dim and self.vector is None:
            self.output = output
        else:
            self.output = build_layers([n_features, latent_dim], output=output, **kinds)

    def forward(
        self, observation: Observation, *, n_leading: int, shifts: Tensor | None = None
    ) -> Tensor:
        """Map observations (..., *shape) to latent states (..., L).

        Args:
            observation: Raw.
            n_leading: Number of leading dimensions.
            shifts: (n pictures, M, 2) int64, see `shift_pictures`; M is the product of the leading
                dimensions. None leaves pictures where they are.
        """
        features = []
        for index, part in enumerate(self.parts.pictures):
            picture = self.parts.picture(part, observation)
            leading = picture.shape[:n_leading]
            flat = picture.flatten(0, n_leading - 1)
            if shifts is not None:
                flat = shift_pictures(flat, shifts[index])
            features.append(self.pictures[index](flat - 0.5).unflatten(0, leading))
        if self.parts.width:
            numbers = self.parts.vector(observation, n_leading=n_leading)
            features.append(numbers if self.vector is None else self.vector(numbers))
        return self.output(torch.cat(features, dim=-1) if len(features) > 1 else features[0])

    def draw_shifts(self, n: int, *, most: int, generator: torch.Generator) -> Tensor | None:
        """Draw shifts of the pictures of n observations (M); None where there are none.

        Args:
            n: Observations.
            most: Pixels, in each direction; 0 for no shifts.
            generator: Source of the randomness.
        """
        if not self.parts.pictures or most == 0:
            return None
        shape = (len(self.parts.pictures), n, 2)
        return torch.randint(-most, most + 1, shape, generator=generator, device=generator.device)


def shift_pictures(picture: Tensor, shifts: Tensor) -> Tensor:
    """Shift each picture by whole pixels; its edge is repeated where nothing is, (M, C, H, W).

    Yarats et al. 2022, "Mastering visual continuous control", section 3.1.

    Args:
        picture: (M, C, H, W)
        shifts: (M, 2) int64, up and to the left.
    """
    height, width = picture.shape[-2:]
    rows = torch.arange(height, device=picture.device) + shifts[:, :1]
    columns = torch.arange(width, device=picture.device) + shifts[:, 1:]
    rows, columns = rows.clamp(0, height - 1), columns.clamp(0, width - 1)
    item = torch.arange(len(picture), device=picture.device).view(-1, 1, 1)
    picked = picture.movedim(1, -1)[item, rows.unsqueeze(2), columns.unsqueeze(1)]
    return picked.movedim(-1, 1)


def _build_convolutions(part: PicturePart, channels: int) -> nn.Module:
    layers: list[nn.Module] = []
    n_inputs = part.shape[0]
    for size, stride in _CONVOLUTIONS:
        layers += [nn.Conv2d(n_inputs, channels, size, stride=stride), nn.ReLU()]
        n_inputs = channels
    return nn.Sequential(*layers[:-1], nn.Flatten())


def _count_features(part: PicturePart, channels: int) -> int:
    sides = list(part.shape[1:])
    for size, stride in _CONVOLUTIONS:
        sides = [(side - size) // stride + 1 for side in sides]
    if min(sides) < 1:
        raise ConfigError(
            f"pictures of {part.shape[1]} x {part.shape[2]} pixels are too small for four "
            "convolutions: set resize_obs, for instance to [64, 64]"
        )
    return channels * sides[0] * sides[1]
