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

    def describe(self, parameters: Parameters) -> dict[str, Tensor]:
        """Return `action_mean` and `action_std`, (B, *shape) each."""
        mean, log_std = parameters
        shape = (*mean.shape[:-1], *self.shape)
        std = log_std.exp().expand_as(mean)
        return {"action_mean": mean.reshape(shape), "action_std": std.reshape(shape)}

    def logprob_and_entropy(self, parameters: Parameters, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return both, (B,) each."""
        return self.logprob(parameters, action), self.entropy(parameters)

    def pull_back(
        self,
        parameters: Parameters,
        action: Tensor,
        *,
        logprob_gradient: Tensor,
        entropy_gradient: float | Tensor,
    ) -> Parameters:
        """Carry gradients of log-probability and entropy back to mean and log_std, in closed form.

        With ``z = (action - mean) / std``: ``d logprob / d mean = z / std``,
        ``d logprob / d log_std = z^2 - 1`` and ``d entropy / d log_std = 1``.

        Args:
            parameters: mean (B, A) and log_std (A,), the same for every row.
            action: (B, *shape).
            logprob_gradient: (B,) gradient of a loss with respect to the log-density.
            entropy_gradient: Its gradient with respect to each row's entropy.

        Returns:
            Gradients with respect to mean (B, A) and log_std (A,).
        """
        mean, log_std = parameters
        inverse_std = (-log_std).exp()
        z = (self._flat(action, mean) - mean) * inverse_std
        weight = logprob_gradient.unsqueeze(-1)
        mean_gradient = weight * z * inverse_std
        log_std_gradient = (weight * (z.square() - 1.0)).sum(dim=0)
        return mean_gradient, log_std_gradient + entropy_gradient * mean.shape[0]
