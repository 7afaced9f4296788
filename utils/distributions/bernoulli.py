"""Independent yes-or-no choices."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from utils.distributions.protocol import Parameters


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """n independent bits; parameters are (logits (B, n) of 1,), actions are (B, n) int64."""

    n: int

    def sample(self, parameters: Parameters, generator: torch.Generator | None) -> Tensor:
        """Draw each bit."""
        probability = parameters[0].sigmoid()
        return torch.bernoulli(probability, generator=generator).to(torch.int64)

    def mode(self, parameters: Parameters) -> Tensor:
        """Return 1 where the probability of 1 is above one half."""
        return (parameters[0] > 0).to(torch.int64)

    def logprob(self, parameters: Parameters, action: Tensor) -> Tensor:
        """Return the sum of the bits' log-probabilities, (B,)."""
        logits = parameters[0]
        assert action.shape == logits.shape, (action.shape, logits.shape)
        # log p(1) = logsigmoid(x), log p(0) = logsigmoid(-x)
        sign = 2.0 * action.to(logits.dtype) - 1.0
        return F.logsigmoid(sign * logits).sum(dim=-1)

    def entropy(self, parameters: Parameters) -> Tensor:
        """Return the sum of the bits' entropies in nats, (B,)."""
        logits = parameters[0]
        probability = logits.sigmoid()
        yes = probability * F.logsigmoid(logits)
        no = (1.0 - probability) * F.logsigmoid(-logits)
        return -(yes + no).sum(dim=-1)

    def describe(self, parameters: Parameters) -> dict[str, Tensor]:
        """Return `action_probabilities`, (B, n): of each bit, that it is 1."""
        return {"action_probabilities": parameters[0].sigmoid()}

    def logprob_and_entropy(self, parameters: Parameters, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return both, (B,) each."""
        return self.logprob(parameters, action), self.entropy(parameters)
