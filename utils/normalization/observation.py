"""Observation normalisation: by running moments, or by the bounds of the space."""

from __future__ import annotations

from typing import Literal

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from utils.errors import ConfigError
from utils.normalization.running_moments import RunningMoments
from utils.spaces import is_picture

Observation = Tensor | dict[str, Tensor]
Mode = Literal["none", "rolling", "static"]
EPSILON = 1e-8


class ObservationNormalizer(nn.Module):
    """Passes observations through; the base of the normalisers and the one for mode "none"."""

    is_identity = True
    learns = False

    def update(self, observation: Observation) -> None:
        """Take in a batch of raw observations, (B, ...)."""

    def forward(self, observation: Observation) -> Observation:
        """Return the observation as the policy reads it, (B, ...)."""
        return observation


class RollingNormalizer(ObservationNormalizer):
    """``clip((x - mean) / sqrt(var + 1e-8), -limit, limit)`` with running mean and variance."""

    is_identity = False
    learns = True

    def __init__(self, space: gym.spaces.Box, *, limit: float) -> None:
        """Start without samples for one Box of floats; `limit` is in standard deviations."""
        super().__init__()
        self.moments = RunningMoments(space.shape)
        self.limit = limit
        shape = (1, *space.shape)
        self.register_buffer("_shift", torch.zeros(shape), persistent=False)
        self.register_buffer("_scale", torch.ones(shape), persistent=False)
        self._register_load_state_dict_pre_hook(self._forget_cache)
        self._is_fresh = True

    def _forget_cache(self, *_: object) -> None:
        self._is_fresh = False

    def update(self, observation: Observation) -> None:
        """Take in a batch, (B, *shape)."""
        self.moments.update(observation)
        self._is_fresh = False

    def forward(self, observation: Observation) -> Observation:
        """Normalise (B, *shape) to float32."""
        if not self._is_fresh:
            self._shift.copy_(self.moments.mean)
            self._scale.copy_((self.moments.var + EPSILON).rsqrt())
            self._is_fresh = True
        centred = observation.to(torch.float32) - self._shift
        return (centred * self._scale).clamp_(-self.limit, self.limit)


class StaticNormalizer(ObservationNormalizer):
    """Scale each bounded dimension to [-1, 1]; a dimension without finite bounds stays as it is."""

    is_identity = False

    def __init__(self, space: gym.spaces.Box) -> None:
        """Read the bounds of one Box of floats."""
        super().__init__()
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        # Some spaces write "no bound" as the largest float.
        limit = np.finfo(np.float32).max / 2
        bounded = (np.abs(low) < limit) & (np.abs(high) < limit) & (high > low)
        self.unbounded_dims = np.flatnonzero(~bounded.reshape(-1)).tolist()
        low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
        centre, half_range = (low + high) / 2, (high - low) / 2
        self.register_buffer("centre", torch.as_tensor(centre, dtype=torch.float32))
        self.register_buffer("half_range", torch.as_tensor(half_range, dtype=torch.float32))

    def forward(self, observation: Observation) -> Observation:
        """Scale (B, *shape) to float32."""
        return (observation.to(torch.float32) - self.centre) / self.half_range


class DictNormalizer(ObservationNormalizer):
    """One normaliser for each key of a Dict observation."""

    is_identity = False

    def __init__(self, parts: dict[str, ObservationNormalizer]) -> None:
        """Hold the normalisers by key."""
        super().__init__()
        self._keys = list(parts)
        self.parts = nn.ModuleList(parts.values())
        self.learns = any(part.learns for part in parts.values())

    def named_parts(self) -> list[tuple[str, ObservationNormalizer]]:
        """Return the normalisers by key."""
        return list(zip(self._keys, self.parts, strict=True))  # type: ignore[arg-type]

    def update(self, observation: Observation) -> None:
        """Take in a batch of each key."""
        for key, part in zip(self._keys, self.parts, strict=True):
            part.update(observation[key])

    def forward(self, observation: Observation) -> Observation:
        """Normalise each key."""
        return {
            key: part(observation[key]) for key, part in zip(self._keys, self.parts, strict=True)
        }


def build_observation_normalizer(
    space: gym.Space, *, mode: Mode, limit: float
) -> ObservationNormalizer:
    """Build the normaliser of an observation space.

    Args:
        space: Single observation space.
        mode: "none", "rolling" (running moments) or "static" (bounds of the space).
        limit: Clip of the rolling mode, in standard deviations.

    Raises:
        ConfigError: The mode would change nothing, because no part of the space is a vector of
            floats (pictures and integers have an encoding of their own).
    """
    if mode == "none":
        return ObservationNormalizer()
    if isinstance(space, gym.spaces.Dict):
        parts = {
            key: _build_part(space[key], mode=mode, limit=limit) for key in sorted(space.spaces)
        }
        if not all(part.is_identity for part in parts.values()):
            return DictNormalizer(parts)
    else:
        part = _build_part(space, mode=mode, limit=limit)
        if not part.is_identity:
            return part
    raise ConfigError(
        f"normalize_obs: {mode} has no effect on the observation space {space}; use none"
    )


def _build_part(space: gym.Space, *, mode: Mode, limit: float) -> ObservationNormalizer:
    is_vector = isinstance(space, gym.spaces.Box) and not is_picture(space)
    if not is_vector or np.issubdtype(space.dtype, np.integer):
        return ObservationNormalizer()
    if mode == "rolling":
        return RollingNormalizer(space, limit=limit)
    static = StaticNormalizer(space)
    return ObservationNormalizer() if len(static.unbounded_dims) == space.low.size else static
