"""From a raw observation of any supported space to features for an MLP."""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.cnn import NatureCNN
from utils.spaces import check_picture_size, encoded_width, is_picture

Observation = Tensor | dict[str, Tensor]


class ObservationEncoder(nn.Module):
    """Encode observations by their declared space: one-hot, scaled picture, flat vector, or Dict.

    Integers stay integers in the buffer and become one-hot here; pictures stay uint8 and are
    divided by 255 here, because the space says so, whatever the dtype of the tensor.
    """

    def __init__(self, space: gym.Space, *, feature_dim: int | None, orthogonal_init: bool) -> None:
        """Build the encoder of one observation space.

        Args:
            space: Single observation space; Dict spaces are flat (one level).
            feature_dim: Width of the features of each picture; None for its convolutions alone.
            orthogonal_init: Passed to the CNN.

        Raises:
            ConfigError: A picture too small for the CNN.
        """
        super().__init__()
        self.space = space
        self.parts: nn.ModuleList | None = None
        self.cnn: NatureCNN | None = None
        if isinstance(space, gym.spaces.Dict):
            self._keys = sorted(space.spaces)
            self.parts = nn.ModuleList(
                ObservationEncoder(
                    space[key], feature_dim=feature_dim, orthogonal_init=orthogonal_init
                )
                for key in self._keys
            )
            self.output_dim = sum(part.output_dim for part in self.parts)
        elif is_picture(space):
            self.cnn = NatureCNN(
                space.shape, feature_dim=feature_dim, orthogonal_init=orthogonal_init
            )
            self.output_dim = self.cnn.output_dim
        else:
            check_picture_size(space)
            self.output_dim = encoded_width(space)
            if isinstance(space, gym.spaces.MultiDiscrete):
                starts = torch.as_tensor(space.start.reshape(-1), dtype=torch.int64)
                self.register_buffer("_starts", starts, persistent=False)

    def prepare(self, observation: Observation) -> Observation:
        """Return (B, *space.shape) observations with their pictures as convolutions read them.

        That is as floats in [0, 1], on a GPU with the channels last. All else is as it was. Who
        asks several encoders of one space does this once, and tells `forward`.
        """
        if self.parts is not None:
            pairs = zip(self._keys, self.parts, strict=True)
            return {key: part.prepare(observation[key]) for key, part in pairs}
        if self.cnn is None:
            return observation
        if observation.is_cuda:  # while it is small
            observation = observation.contiguous(memory_format=torch.channels_last)
        return observation / 255.0

    def forward(self, observation: Observation, *, is_prepared: bool = False) -> Tensor:
        """Map (B, *space.shape) observations to (B, output_dim) float32 features.

        Args:
            observation: As the space says.
            is_prepared: It comes from `prepare`.
        """
        if self.parts is not None:
            pairs = zip(self._keys, self.parts, strict=True)
            return torch.cat(
                [part(observation[key], is_prepared=is_prepared) for key, part in pairs], dim=-1
            )
        if self.cnn is not None:
            return self.cnn(observation if is_prepared else self.prepare(observation))
        match self.space:
            case gym.spaces.Discrete():
                index = observation.to(torch.int64) - int(self.space.start)
                return F.one_hot(index, int(self.space.n)).to(torch.float32)
            case gym.spaces.MultiDiscrete():
                index = observation.reshape(observation.shape[0], -1).to(torch.int64)
                return self._one_hot_groups(index - self._starts)
        return observation.reshape(observation.shape[0], -1).to(torch.float32)

    def _one_hot_groups(self, index: Tensor) -> Tensor:
        sizes = self.space.nvec.reshape(-1).tolist()
        groups = [F.one_hot(index[:, k], size) for k, size in enumerate(sizes)]
        return torch.cat(groups, dim=-1).to(torch.float32)
