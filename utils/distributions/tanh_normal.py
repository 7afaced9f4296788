"""A normal distribution pressed into [-1, 1], as the actors of the first Dreamers have it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from utils.distributions.protocol import Parameters
from utils.distributions.squashed_normal import squash

_MEAN_SCALE = 5.0
_MIN_STD = 1e-4
_FIRST_RAW_STD = math.log(math.exp(5.0) - 1.0)
"""softplus of it is 5: the deviation before the tangent where the network says 0."""


@dataclass(frozen=True, slots=True)
class TanhNormal:
    """``tanh(u)``, u normal; parameters are (raw_mean (B, A), raw_std (B, A)).

    ``mean = 5 tanh(raw_mean / 5)``, ``std = softplus(raw_std + softplus^-1(5)) + 1e-4``: Hafner et
    al. 2020, "Dream to control", appendix A. The entropy has no closed form: it is estimated by
    the density of the action that was drawn.
    """

    n_actions: int

    def _mean_and_log_std(self, parameters: Parameters) -> tuple[Tensor, Tensor]:
        raw_mean, raw_std = (part.float() for part in parameters)
        mean = _MEAN_SCALE * (raw_mean / _MEAN_SCALE).tanh()
        return mean, (F.softplus(raw_std + _FIRST_RAW_STD) + _MIN_STD).log()

    def sample(self, parameters: Parameters, generator: torch.Generator | None) -> Tensor:
        """Draw an action, (B, A); gradients flow to the parameters."""
        mean, log_std = self._mean_and_log_std(parameters)
        noise = torch.empty_like(mean).normal_(generator=generator)
        return torch.addcmul(mean, log_std.exp(), noise).tanh()

    def mode(self, parameters: Parameters) -> Tensor:
        """Return the tangent of the mean, (B, A)."""
        return self._mean_and_log_std(parameters)[0].tanh()

    def logprob(self, parameters: Parameters, action: Tensor) -> Tensor:
        """Return the log-density summed over the dimensions, (B,)."""
        mean, log_std = self._mean_and_log_std(parameters)
        # The tangent of a large number is 1 to the last bit: from there no way leads back.
        unsquashed = action.clamp(-1.0 + 1e-6, 1.0 - 1e-6).atanh()
        noise = (unsquashed - mean) / log_std.exp()
        size = mean.shape[-1]
        rows = (part.reshape(-1, size) for part in (mean, log_std, noise))
        return squash(*rows)[1].view(mean.shape[:-1])

    def entropy(self, parameters: Parameters) -> Tensor:
        """Return the entropy of the normal distribution before the tangent in nats, (B,)."""
        _, log_std = self._mean_and_log_std(parameters)
        return (log_std + 0.5 * math.log(2.0 * math.pi * math.e)).sum(dim=-1)

    def describe(self, parameters: Parameters) -> dict[str, Tensor]:
        """Return `action_mode` and `std_before_tanh`, (B, A) each."""
        _, log_std = self._mean_and_log_std(parameters)
        return {"action_mode": self.mode(parameters), "std_before_tanh": log_std.exp()}

    def logprob_and_entropy(self, parameters: Parameters, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return both, (B,) each."""
        return self.logprob(parameters, action), self.entropy(parameters)
