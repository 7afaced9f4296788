"""From a state of the model back to the observation."""

from __future__ import annotations

from typing import NamedTuple

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.distributions.symlog import symexp, symlog
from utils.world_models.heads import Head
from utils.world_models.observation_parts import Observation, ObservationParts
from utils.world_models.pictures import PooledDecoder, StridedDecoder, picture_loss
from utils.world_models.settings import WorldModelSettings


class Decoded(NamedTuple):
    """What a decoder says of states."""

    pictures: list[Tensor]
    """(..., C, H, W) in [0, 1] of each picture."""
    vector: Tensor | None
    """(..., width) numbers as symmetric logarithms, then logits of the choices."""


class Decoder(nn.Module):
    """The way back of `Encoder`, and how far it misses."""

    def __init__(self, space: gym.Space, settings: WorldModelSettings, *, stoch: int) -> None:
        """Build the decoder of a single observation space; `stoch` is the width of a latent."""
        super().__init__()
        self.parts = ObservationParts(space)
        deter = settings.deter
        self.pictures = nn.ModuleList(
            PooledDecoder(
                deter,
                stoch,
                part.shape,
                depth=settings.depth,
                units=settings.units,
                n_blocks=settings.blocks,
                norm=settings.norm,
                activation=settings.activation,
            )
            if settings.pictures == "pooled"
            else StridedDecoder(
                deter + stoch, part.shape, depth=settings.depth, activation=settings.activation
            )
            for part in self.parts.pictures
        )
        self.vector: Head | None = None
        if self.parts.width:
            self.vector = Head(
                deter + stoch,
                self.parts.width,
                width=settings.units,
                n_layers=settings.decoder_layers,
                norm=settings.norm,
                activation=settings.activation,
            )

    def forward(self, features: Tensor) -> Decoded:
        """Map (..., F) to what would be seen."""
        leading = features.shape[:-1]
        rows = features.flatten(0, -2)
        pictures = [decoder(rows).unflatten(0, leading) for decoder in self.pictures]
        return Decoded(pictures, None if self.vector is None else self.vector(features))

    def loss(self, decoded: Decoded, observation: Observation) -> dict[str, Tensor]:
        """Return how far each kind of part is missed, (...) float32 each.

        Pictures: squared error summed over pixels. Numbers: squared error of symmetric logarithms,
        summed. Choices: cross-entropy, summed.
        """
        losses: dict[str, Tensor] = {}
        for part, predicted in zip(self.parts.pictures, decoded.pictures, strict=True):
            error = picture_loss(predicted, self.parts.picture(part, observation))
            losses["picture"] = losses["picture"] + error if "picture" in losses else error
        if decoded.vector is None:
            return losses
        n = decoded.vector.ndim - 1
        target, numbers = self.parts.vector(observation, n_leading=n), self.parts.n_numbers
        if numbers:
            difference = decoded.vector[..., :numbers] - symlog(target[..., :numbers])
            losses["vector"] = difference.square().sum(dim=-1)
        start = numbers
        for size in self.parts.choice_sizes:
            logprob = decoded.vector[..., start : start + size].log_softmax(dim=-1)
            error = -(logprob * target[..., start : start + size]).sum(dim=-1)
            losses["choice"] = losses["choice"] + error if "choice" in losses else error
            start += size
        return losses

    def numbers(self, decoded: Decoded) -> Tensor | None:
        """Return what is no picture in its own units, (..., width): choices as probabilities."""
        if decoded.vector is None:
            return None
        n = self.parts.n_numbers
        columns = [symexp(decoded.vector[..., :n])]
        start = n
        for size in self.parts.choice_sizes:
            columns.append(decoded.vector[..., start : start + size].softmax(dim=-1))
            start += size
        return torch.cat(columns, dim=-1)
