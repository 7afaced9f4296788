"""Numbers scaled by the least and the greatest that were ever seen."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from utils.normalization.observation import DictNormalizer, ObservationNormalizer
from utils.spaces import is_picture

_LEAST_RANGE = 1e-4
"""A number that varies by less is shifted to 0 and not scaled."""


class MinMaxScale(nn.Module):
    """``(x - centre) / half_range``, so that what was seen lies in [-1, 1]; begins as identity."""

    centre: Tensor
    half_range: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Begin as the identity for values of a shape."""
        super().__init__()
        self.register_buffer("centre", torch.zeros(shape))
        self.register_buffer("half_range", torch.ones(shape))

    def fit_(self, values: Tensor) -> None:
        """Take the bounds of (N, *shape) values."""
        least, most = values.amin(dim=0).double(), values.amax(dim=0).double()
        half_range = (most - least) / 2
        is_constant = half_range < _LEAST_RANGE / 2
        self.centre.copy_((most + least) / 2)
        self.half_range.copy_(torch.where(is_constant, torch.ones_like(half_range), half_range))

    def forward(self, values: Tensor) -> Tensor:
        """Scale (..., *shape) to float32."""
        return (values.to(torch.float32) - self.centre) / self.half_range

    def inverse(self, values: Tensor) -> Tensor:
        """Undo `forward`."""
        return values * self.half_range + self.centre


class MinMaxNormalizer(ObservationNormalizer):
    """Scales one Box of numbers by the bounds of what was demonstrated."""

    is_identity = False

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Begin as the identity."""
        super().__init__()
        self.scale = MinMaxScale(shape)

    def fit_(self, observation: Tensor) -> None:
        """Take the bounds of (N, *shape) observations."""
        self.scale.fit_(observation)

    def forward(self, observation: Tensor) -> Tensor:  # type: ignore[override]
        """Scale (B, *shape) to float32."""
        return self.scale(observation)


def build_min_max_normalizer(space: gym.Space) -> ObservationNormalizer:
    """Build what scales the parts of an observation that are vectors of floats, if any are.

    Args:
        space: Single observation space.
    """
    if isinstance(space, gym.spaces.Dict):
        parts = {key: build_min_max_normalizer(space[key]) for key in sorted(space.spaces)}
        if all(part.is_identity for part in parts.values()):
            return ObservationNormalizer()
        return DictNormalizer(parts)
    is_numbers = isinstance(space, gym.spaces.Box) and not is_picture(space)
    if is_numbers and not np.issubdtype(space.dtype, np.integer):
        return MinMaxNormalizer(space.shape)
    return ObservationNormalizer()


def fit_min_max_(
    normalizer: ObservationNormalizer, observation: Tensor | dict[str, Tensor]
) -> None:
    """Let a normaliser of `build_min_max_normalizer` take the bounds of (N, ...) observations."""
    if isinstance(normalizer, DictNormalizer):
        for key, part in normalizer.named_parts():
            fit_min_max_(part, observation[key])
    elif isinstance(normalizer, MinMaxNormalizer):
        normalizer.fit_(observation)  # type: ignore[arg-type]
