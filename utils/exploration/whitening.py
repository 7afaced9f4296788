"""Observations for bonus networks: mean 0, deviation 1, clipped, by moments of their own."""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.models import ObservationEncoder
from utils.normalization.running_moments import RunningMoments
from utils.spaces import is_picture

Observation = Tensor | dict[str, Tensor]

_EPSILON = 1e-8
_MOST_NUMBERS_AT_ONCE = 2**22
"""Running moments work in float64: pictures are taken in by parts of this size."""


class Whitening(nn.Module):
    """``clip((x - mean) / sqrt(var), -limit, limit)`` for each part of an observation.

    Every Box has a running mean and variance of each number, or of each pixel of a picture, since a
    random network that cannot adapt needs inputs of one scale (Burda et al. 2019, "Exploration by
    Random Network Distillation", section 2.4). Discrete and MultiDiscrete parts become one-hot.

    Differs: there is no stretch of random actions beforehand; the moments take in every rollout
    before its bonus is computed.
    """

    def __init__(self, space: gym.Space, *, limit: float, n_frames: int) -> None:
        """Start without samples.

        Args:
            space: Single observation space; Dict spaces are flat (one level).
            limit: Clip, in standard deviations, > 0.
            n_frames: Frames that are stacked into a picture's channels; the newest alone is read,
                as in the paper.
        """
        super().__init__()
        is_dict = isinstance(space, gym.spaces.Dict)
        self.keys = sorted(space.spaces) if is_dict else None
        spaces = [space[key] for key in self.keys] if self.keys is not None else [space]
        self.parts = nn.ModuleList(_part(one, limit=limit, n_frames=n_frames) for one in spaces)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of each part as `forward` gives it, without the batch."""
        return [part.shape for part in self.parts]

    @property
    def learns(self) -> bool:
        """Whether any part has moments."""
        return any(isinstance(part, _WhiteBox) for part in self.parts)

    def _split(self, observation: Observation) -> list[Tensor]:
        if self.keys is None:
            assert isinstance(observation, Tensor), type(observation)
            return [observation]
        return [observation[key] for key in self.keys]

    @torch.no_grad()
    def update(self, observation: Observation) -> None:
        """Take in raw observations (B, ...)."""
        for part, values in zip(self.parts, self._split(observation), strict=True):
            part.update(values)

    def forward(self, observation: Observation) -> list[Tensor]:
        """Return every part of raw observations (B, ...) as (B, *shape) float32."""
        return [part(x) for part, x in zip(self.parts, self._split(observation), strict=True)]


def _part(space: gym.Space, *, limit: float, n_frames: int) -> nn.Module:
    if isinstance(space, gym.spaces.Box):
        return _WhiteBox(space, limit=limit, n_frames=n_frames)
    return _OneHot(space)


class _OneHot(nn.Module):
    """Encodes what has no scale."""

    def __init__(self, space: gym.Space) -> None:
        super().__init__()
        self.encoder = ObservationEncoder(space, feature_dim=1, orthogonal_init=False)
        self.shape = (self.encoder.output_dim,)

    def update(self, values: Tensor) -> None:
        """Learn nothing."""

    def forward(self, values: Tensor) -> Tensor:
        return self.encoder(values)


class _WhiteBox(nn.Module):
    """Whitens a vector (flat) or a picture (as it is)."""

    def __init__(self, space: gym.spaces.Box, *, limit: float, n_frames: int) -> None:
        super().__init__()
        self.limit = limit
        self.n_channels: int | None = None
        shape: tuple[int, ...] = (int(torch.Size(space.shape).numel()),)
        if is_picture(space):
            assert space.shape[0] % n_frames == 0, (space.shape, n_frames)
            self.n_channels = space.shape[0] // n_frames
            shape = (self.n_channels, *space.shape[1:])
        self.shape = shape
        self.moments = RunningMoments(shape)

    def _select(self, values: Tensor) -> Tensor:
        if self.n_channels is None:
            return values.reshape(values.shape[0], -1)
        return values[:, -self.n_channels :]

    def update(self, values: Tensor) -> None:
        """Take in (B, ...) raw values, a part at a time."""
        rows = max(1, _MOST_NUMBERS_AT_ONCE // max(1, torch.Size(self.shape).numel()))
        for some in self._select(values).split(rows):
            self.moments.update(some)

    def forward(self, values: Tensor) -> Tensor:
        mean = self.moments.mean.to(torch.float32)
        scale = (self.moments.var + _EPSILON).rsqrt().to(torch.float32)
        white = (self._select(values).to(torch.float32) - mean) * scale
        return white.clamp_(-self.limit, self.limit)
