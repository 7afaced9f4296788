"""The whole network of a diffusion policy: what it sees of an observation, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.diffusion.picture_encoder import PictureEncoder, crop_at_random
from utils.diffusion.transformer import AttentionSettings, ConditionalTransformer
from utils.diffusion.unet import ConditionalUnet1d
from utils.models import ObservationEncoder
from utils.spaces import is_picture

Observation = Tensor | dict[str, Tensor]
_WHOLE = "observation"


@dataclass(frozen=True, kw_only=True, slots=True)
class DenoiserSettings:
    """The shape of the network; the values mean what the config keys of the same names say."""

    network: Literal["unet", "transformer"]
    n_observations: int
    """Observations that are seen."""
    length: int
    """Actions of a sequence T."""
    channels: tuple[int, ...]
    kernel_size: int
    n_groups: int
    step_dim: int
    width: int
    n_layers: int
    n_heads: int
    dropout: float
    causal: bool
    picture_width: int
    n_keypoints: int
    crop_fraction: float


class Denoiser(nn.Module):
    """Reads observations that were normalised, and predicts for noisy actions."""

    def __init__(self, space: gym.Space, action_dim: int, settings: DenoiserSettings) -> None:
        """Build encoders and network.

        Args:
            space: Single observation space.
            action_dim: Numbers of an action A.
            settings: Of both.
        """
        super().__init__()
        is_dict = isinstance(space, gym.spaces.Dict)
        leaves = {key: space[key] for key in sorted(space.spaces)} if is_dict else {_WHOLE: space}
        self._keys = list(leaves)
        self.encoders = nn.ModuleList(_build_encoder(leaf, settings) for leaf in leaves.values())
        self.features_dim = sum(encoder.output_dim for encoder in self.encoders)
        self.network: nn.Module
        if settings.network == "unet":
            self.network = ConditionalUnet1d(
                action_dim,
                features_dim=settings.n_observations * self.features_dim,
                channels=settings.channels,
                kernel_size=settings.kernel_size,
                n_groups=settings.n_groups,
                step_dim=settings.step_dim,
            )
        else:
            self.network = ConditionalTransformer(
                action_dim,
                features_dim=self.features_dim,
                n_observations=settings.n_observations,
                length=settings.length,
                settings=AttentionSettings(
                    width=settings.width,
                    n_layers=settings.n_layers,
                    n_heads=settings.n_heads,
                    dropout=settings.dropout,
                    causal=settings.causal,
                ),
            )

    def encode(self, observation: Observation) -> Tensor:
        """Return what is known of each observation (B, ...), (B, F)."""
        return torch.cat([encoder(part) for encoder, part in self._pairs(observation)], dim=-1)

    def encode_windows(
        self, observation: Observation, *, crops: torch.Generator | None = None
    ) -> Tensor:
        """Return what is known of observations (B, n, ...), (B, n, F).

        Args:
            observation: (B, n, ...)
            crops: Cuts another part out of each row's pictures; None looks at the middle.
        """
        features = []
        for encoder, part in self._pairs(observation):
            if crops is not None and isinstance(encoder, PictureEncoder):
                part = crop_at_random(part, encoder.sides, crops)
            features.append(encoder(part.flatten(0, 1)).unflatten(0, part.shape[:2]))
        return torch.cat(features, dim=-1)

    def forward(self, action: Tensor, step: Tensor, features: Tensor) -> Tensor:
        """Predict for noisy actions (B, T, A).

        Args:
            action: (B, T, A)
            step: (B,) int64 of the noise.
            features: (B, n_observations, F)
        """
        return self.network(action, step, features)

    def _pairs(self, observation: Observation) -> list[tuple[nn.Module, Tensor]]:
        parts = observation if isinstance(observation, dict) else {_WHOLE: observation}
        return [(enc, parts[key]) for key, enc in zip(self._keys, self.encoders, strict=True)]


def _build_encoder(space: gym.Space, settings: DenoiserSettings) -> nn.Module:
    if not is_picture(space):
        return ObservationEncoder(space, feature_dim=1, orthogonal_init=False)
    return PictureEncoder(
        space.shape,
        width=settings.picture_width,
        n_keypoints=settings.n_keypoints,
        crop_fraction=settings.crop_fraction,
    )
