"""A normal distribution with independent dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from utils.distributions.protocol import Parameters

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, slots=True)
class DiagonalNormal:
    """Normal over actions of shape `shape`.

    Parameters are (mean (B, A), log_std broadcastable to (B, A)) with A the product of `shape`;
    actions are (B, *shape) float. Log-probabilities belong to the drawn action; clipping to the
    bounds of an environment happens outside, so that the two never disagree.
    """

    shape: tuple[int, ...]

    def _flat(self, action: Tensor, mean: Tensor) -> Tensor:
        flat = action.reshape(*action.shape[: action.ndim - len(self.shape)], -1)
        assert flat.shape == mean.shape, (action.shape, mean.shape)
        return flat

    def sample(self, parameters: Parameters, generator: torch.Generator | None) -> Tensor:
        """Draw ``mean + std * noise``, (B, *shape)."""
        mean, log_std = parameters
        noise = torch.empty_like(mean).normal_(generator=generator)
        action = torch.addcmul(mean, log_std.exp().expand_as(mean), noise)
        return action.reshape(*mean.shape[:-1], *self.shape)

    def mode(self, parameters: Parameters) -> Tensor:
        """Return the mean, (B, *shape)."""
        mean = parameters[0]
        return mean.reshape(*mean.shape[:-1], *self.shape)

    def logprob(self, parameters: Parameters, action: Tensor) -> Tensor:
        """Return the log-density summed over the dimensions, (B,)."""
        mean, log_std = parameters
        z = (self._flat(action, mean) - mean) * (-log_std).exp()
        return -(0.5 * z.square() + log_std + _HALF_LOG_TWO_PI).sum(dim=-1)

    def entropy(self, parameters: Parameters) -> Tensor:
        """Return ``sum(log_std) + A / 2 * log(2 pi e)`` in nats, (B,)."""
        mean, log_std = parameters
        return (log_std.expand_as(mean) + (_HALF_LOG_TWO_PI + 0.5)).sum(dim=-1)

    def logprob_and_entropy(self, parameters: Parameters, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return both, (B,) each."""
        return self.logprob(parameters, action), self.entropy(parameters)
