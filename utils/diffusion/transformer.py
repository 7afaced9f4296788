"""A transformer over sequences of actions, which looks at the observations and the noise."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from utils.diffusion.step_code import StepCode

_INITIAL_STD = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionSettings:
    """The shape of a transformer."""

    width: int
    """Of a token."""
    n_layers: int
    """Of the decoder."""
    n_heads: int
    """Of each attention; divides the width."""
    dropout: float
    """Share of what is left out while learning."""
    causal: bool
    """An action sees those before it only."""


class ConditionalTransformer(nn.Module):
    """Chi et al. 2023, "Diffusion Policy: Visuomotor policy learning via action diffusion", 3.1.

    Actions are the tokens of a decoder; the step of the noise and the observations are what it
    attends to.
    """

    mask: Tensor | None

    def __init__(
        self,
        action_dim: int,
        *,
        features_dim: int,
        n_observations: int,
        length: int,
        settings: AttentionSettings,
    ) -> None:
        """Build the layers.

        Args:
            action_dim: Numbers of an action A.
            features_dim: Width of what is known of one observation F.
            n_observations: Observations that are seen.
            length: Actions of a sequence T.
            settings: Of the layers.
        """
        super().__init__()
        width = settings.width
        self.step_code = StepCode(width)
        self.read_action = nn.Linear(action_dim, width)
        self.read_features = nn.Sequential(
            nn.Linear(features_dim, 4 * width), nn.Mish(), nn.Linear(4 * width, width)
        )
        self.action_place = nn.Parameter(torch.randn(length, width) * _INITIAL_STD)
        self.memory_place = nn.Parameter(torch.randn(1 + n_observations, width) * _INITIAL_STD)
        self.memory_norm = nn.LayerNorm(width)
        layer = nn.TransformerDecoderLayer(
            width,
            settings.n_heads,
            dim_feedforward=4 * width,
            dropout=settings.dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.decoder = nn.TransformerDecoder(layer, settings.n_layers)
        self.output = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, action_dim))
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", later if settings.causal else None, persistent=False)

    def forward(self, action: Tensor, step: Tensor, features: Tensor) -> Tensor:
        """Predict for noisy actions (B, T, A).

        Args:
            action: (B, T, A)
            step: (B,) int64 of the noise.
            features: (B, n_observations, F)
        """
        seen = torch.cat([self.step_code(step).unsqueeze(1), self.read_features(features)], dim=1)
        tokens = self.read_action(action) + self.action_place
        memory = self.memory_norm(seen + self.memory_place)
        hidden = self.decoder(tokens, memory, tgt_mask=self.mask)
        return self.output(hidden)
