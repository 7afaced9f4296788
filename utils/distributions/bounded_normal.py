"""A normal distribution whose mean and deviation are bounded, for actions in [-1, 1]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from utils.distributions.protocol import Parameters

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
LEAST_STD = 0.1


@dataclass(frozen=True, slots=True)
class BoundedNormal:
    """Normal over A action dimensions; parameters are (raw_mean (B, A), raw_std (B, A)).

    ``mean = tanh(raw_mean)``, ``std = 0.9 sigmoid(raw_std + 2) + 0.1``, as in DreamerV3's code;
    what lies beyond [-1, 1] is drawn as it is and cut off by whoever acts.
    """

    n_actions: int

    def _mean_and_std(self, parameters: Parameters) -> tuple[Tensor, Tensor]:
        raw_mean, raw_std = (part.float() for part in parameters)
        return raw_mean.tanh(), (1.0 - LEAST_STD) * (raw_std + 2.0).sigmoid() + LEAST_STD

    def sample(self, parameters: Parameters, generator: torch.Generator | None) -> Tensor:
        """Draw ``mean + std * noise``, (B, A); gradients flow to the parameters."""
        mean, std = self._mean_and_std(parameters)
        return torch.addcmul(mean, std, torch.empty_like(mean).normal_(generator=generator))

    def mode(self, parameters: Parameters) -> Tensor:
        """Return the mean, (B, A)."""
        return parameters[0].float().tanh()

    def logprob(self, parameters: Parameters, action: Tensor) -> Tensor:
        """Return the log-density summed over the dimensions, (B,)."""
        return self.logprob_and_entropy(parameters, action)[0]

    def entropy(self, parameters: Parameters) -> Tensor:
        """Return ``sum(log std) + A / 2 * log(2 pi e)`` in nats, (B,)."""
        _, std = self._mean_and_std(parameters)
        return (std.log() + (_HALF_LOG_TWO_PI + 0.5)).sum(dim=-1)

    def describe(self, parameters: Parameters) -> dict[str, Tensor]:
        """Return `action_mean` and `action_std`, (B, A) each."""
        mean, std = self._mean_and_std(parameters)
        return {"action_mean": mean, "action_std": std}

    def logprob_and_entropy(self, parameters: Parameters, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return both, (B,) each."""
        mean, std = self._mean_and_std(parameters)
        log_std = std.log()
        z = (action - mean) / std
        logprob = -(0.5 * z.square() + log_std + _HALF_LOG_TWO_PI).sum(dim=-1)
        return logprob, (log_std + (_HALF_LOG_TWO_PI + 0.5)).sum(dim=-1)
