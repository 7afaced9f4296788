"""What stands before the networks of Stable-Baselines3: preprocessing, extractors, VecNormalize."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.errors import ConfigError

Observation = Tensor | dict[str, Tensor]
_BYTE = 255
_PICTURE_DIMS = 3


def is_sb3_picture(space: gym.Space, *, float_pictures: bool) -> bool:
    """Say whether Stable-Baselines3 takes a space for a picture: three dimensions of whole bytes.

    Args:
        space: Of an observation or of a part of it.
        float_pictures: Any numbers in three dimensions count.
    """
    if not isinstance(space, gym.spaces.Box) or len(space.shape) != _PICTURE_DIMS:
        return False
    if float_pictures:
        return True
    has_bounds = bool((space.low == 0).all() and (space.high == _BYTE).all())
    return space.dtype == np.uint8 and has_bounds


class NatureCNN(nn.Module):
    """Mnih et al. 2015, "Human-level control through deep reinforcement learning": three layers."""

    def __init__(self, space: gym.spaces.Box, n_outputs: int) -> None:
        """Build the layers for pictures (C, H, W)."""
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(space.shape[0], 32, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        with torch.no_grad():
            width = self.cnn(torch.zeros(1, *space.shape)).shape[1]
        self.linear = nn.Sequential(nn.Linear(width, n_outputs), nn.ReLU())

    def forward(self, picture: Tensor) -> Tensor:
        """Map (B, C, H, W) float to (B, n_outputs)."""
        return self.linear(self.cnn(picture))


class Flat(nn.Module):
    """Anything as one row of numbers."""

    def forward(self, numbers: Tensor) -> Tensor:
        """Map (B, ...) to (B, D)."""
        return numbers.flatten(1)


class SB3Encoder(nn.Module):
    """Preprocessing and extractor of an observation space.

    Attributes:
        width: Numbers of the features.
    """

    def __init__(
        self,
        space: gym.Space,
        *,
        kind: str,
        feature_dim: int,
        normalize_images: bool,
        float_pictures: bool,
    ) -> None:
        """Build it; the arguments are those of `utils.config.algos.sb3.SB3Kwargs`."""
        super().__init__()
        self._space, self._is_scaled = space, normalize_images
        self._float_pictures = float_pictures
        if kind == "combined":
            assert isinstance(space, gym.spaces.Dict), space
            self.extractors = nn.ModuleDict(
                {
                    key: NatureCNN(part, feature_dim)
                    if is_sb3_picture(part, float_pictures=float_pictures)
                    else Flat()
                    for key, part in space.spaces.items()
                }
            )
            self.width = sum(
                feature_dim if isinstance(self.extractors[key], NatureCNN) else _width(part)
                for key, part in space.spaces.items()
            )
        elif kind == "cnn":
            assert isinstance(space, gym.spaces.Box), space
            own = NatureCNN(space, feature_dim)
            self.cnn, self.linear, self.width = own.cnn, own.linear, feature_dim
        else:
            self.width = _width(space)

    def forward(self, observation: Observation) -> Tensor:
        """Map raw observations (B, ...) to features (B, width)."""
        if isinstance(observation, dict):
            parts = [
                self.extractors[key](self._prepare(part, observation[key]))
                for key, part in self._space.spaces.items()  # type: ignore[attr-defined]
            ]
            return torch.cat(parts, dim=1)
        numbers = self._prepare(self._space, observation)
        if hasattr(self, "cnn"):
            return self.linear(self.cnn(numbers))
        return numbers.flatten(1)

    def _prepare(self, space: gym.Space, observation: Tensor) -> Tensor:
        """Return numbers of one leaf: pictures from 0 to 1, choices as one-hot vectors."""
        match space:
            case gym.spaces.Discrete():
                return F.one_hot(observation.long(), int(space.n)).float().flatten(1)
            case gym.spaces.MultiDiscrete():
                sizes = [int(n) for n in space.nvec]
                columns = [F.one_hot(observation[:, i].long(), n) for i, n in enumerate(sizes)]
                return torch.cat(columns, dim=1).float()
        numbers = observation.float()
        # Whatever the extractor is told of floats, only whole bytes are divided.
        if self._is_scaled and is_sb3_picture(space, float_pictures=False):
            return numbers / _BYTE
        return numbers


def _width(space: gym.Space) -> int:
    match space:
        case gym.spaces.Discrete():
            return int(space.n)
        case gym.spaces.MultiDiscrete():
            return int(space.nvec.sum())
        case gym.spaces.Box() | gym.spaces.MultiBinary():
            return int(np.prod(space.shape))
    raise ConfigError(f"policies of Stable-Baselines3 read no observations of {space}")


class VecNormalizer(nn.Module):
    """``clip((x - mean) / sqrt(var + epsilon), -clip, clip)`` in float64, as `VecNormalize` has it.

    Statistics that are not loaded leave an observation as it is.
    """

    def __init__(self, space: gym.Space, *, epsilon: float, clip: float) -> None:
        """Make room for the statistics of every Box; a picture of bytes has none."""
        super().__init__()
        self._epsilon, self._clip = epsilon, clip
        self.leaves = {
            key: part
            for key, part in leaves_of(space).items()
            if isinstance(part, gym.spaces.Box) and not is_sb3_picture(part, float_pictures=False)
        }
        for i, part in enumerate(self.leaves.values()):
            self.register_buffer(f"mean_{i}", torch.zeros(part.shape, dtype=torch.float64))
            self.register_buffer(f"var_{i}", torch.ones(part.shape, dtype=torch.float64))
            self.register_buffer(f"is_used_{i}", torch.tensor(False))

    def forward(self, observation: Observation) -> Observation:
        """Return observations (B, ...) as the policy reads them."""
        if isinstance(observation, dict):
            changed = {key: self._scale(i, observation[key]) for i, key in enumerate(self.leaves)}
            return {**observation, **changed}
        return self._scale(0, observation) if self.leaves else observation

    def _scale(self, index: int, numbers: Tensor) -> Tensor:
        mean, var = getattr(self, f"mean_{index}"), getattr(self, f"var_{index}")
        scaled = (numbers.double() - mean) / (var + self._epsilon).sqrt()
        scaled = scaled.clamp(-self._clip, self._clip).float()
        return torch.where(getattr(self, f"is_used_{index}"), scaled, numbers.float())


def leaves_of(space: gym.Space) -> dict[str, gym.Space]:
    """Return the parts of a dictionary by key; anything else under ""."""
    return dict(space.spaces) if isinstance(space, gym.spaces.Dict) else {"": space}
