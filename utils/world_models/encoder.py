"""From an observation to an embedding."""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.distributions.symlog import symlog
from utils.world_models.layers import build_dense_stack
from utils.world_models.observation_parts import Observation, ObservationParts
from utils.world_models.pictures import PooledEncoder, StridedEncoder
from utils.world_models.settings import WorldModelSettings


class Encoder(nn.Module):
    """Pictures by convolutions, everything else by dense layers, side by side.

    Numbers come in as their symmetric logarithm, so that they need no running normalisation.
    """

    def __init__(self, space: gym.Space, settings: WorldModelSettings) -> None:
        """Build the encoder of a single observation space.

        Raises:
            ConfigError: A part that it cannot read.
        """
        super().__init__()
        self.parts = ObservationParts(space)
        kind = PooledEncoder if settings.pictures == "pooled" else StridedEncoder
        self.pictures = nn.ModuleList(
            kind(part.shape, depth=settings.depth, activation=settings.activation)
            for part in self.parts.pictures
        )
        self.output_dim = sum(encoder.output_dim for encoder in self.pictures)
        self.vector: nn.Module | None = None
        if self.parts.width:
            self.vector = build_dense_stack(
                self.parts.width,
                settings.units,
                n_layers=settings.encoder_layers,
                norm=settings.norm,
                activation=settings.activation,
            )
            self.output_dim += settings.units if settings.encoder_layers else self.parts.width

    def forward(self, observation: Observation, *, n_leading: int) -> Tensor:
        """Map observations (..., *shape) to embeddings (..., output_dim).

        Args:
            observation: Raw.
            n_leading: Number of leading dimensions.
        """
        features = []
        for part, encoder in zip(self.parts.pictures, self.pictures, strict=True):
            picture = self.parts.picture(part, observation)
            leading = picture.shape[:n_leading]
            features.append(encoder(picture.flatten(0, n_leading - 1)).unflatten(0, leading))
        if self.vector is not None:
            numbers = symlog(self.parts.vector(observation, n_leading=n_leading))
            features.append(self.vector(numbers))
        return torch.cat(features, dim=-1) if len(features) > 1 else features[0]
