"""One choice among n."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from utils.distributions.protocol import Parameters


def gumbel_max(logits: Tensor, generator: torch.Generator | None) -> Tensor:
    """Sample an index in proportion to exp(logits) along the last dimension.

    ``argmax(logits - log(E))`` with E standard exponential is an exact sample (the Gumbel-max
    trick) and needs neither a normalised distribution nor a cumulative sum.

    Args:
        logits: (..., n) float, unnormalised; -inf marks an impossible choice.
        generator: Source of randomness on the device of `logits`.

    Returns:
        (...) int64 in [0, n).
    """
    noise = torch.empty_like(logits).exponential_(generator=generator)
    return (logits - noise.log_()).argmax(dim=-1)


@dataclass(frozen=True, slots=True)
class Categorical:
    """Distribution over {0, ..., n - 1}; parameters are (logits (B, n),), actions (B,) int64."""

    n: int

    def sample(self, parameters: Parameters, generator: torch.Generator | None) -> Tensor:
        """Draw one index for each row."""
        return gumbel_max(parameters[0], generator)

    def mode(self, parameters: Parameters) -> Tensor:
        """Return the index with the highest probability."""
        return parameters[0].argmax(dim=-1)

    def logprob(self, parameters: Parameters, action: Tensor) -> Tensor:
        """Return log p(action), (B,)."""
        return _pick(parameters[0].log_softmax(dim=-1), action)

    def entropy(self, parameters: Parameters) -> Tensor:
        """Return ``-sum p log p`` in nats; an impossible choice (logit -inf) adds nothing."""
        return _entropy(parameters[0].log_softmax(dim=-1))

    def describe(self, parameters: Parameters) -> dict[str, Tensor]:
        """Return `action_probabilities`, (B, n)."""
        return {"action_probabilities": parameters[0].softmax(dim=-1)}

    def logprob_and_entropy(self, parameters: Parameters, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return both, (B,) each, from one normalisation of the logits."""
        logprobs = parameters[0].log_softmax(dim=-1)
        return _pick(logprobs, action), _entropy(logprobs)

    def pull_back(
        self,
        logprobs: Tensor,
        action: Tensor,
        *,
        logprob_gradient: Tensor,
        entropy_gradient: float | Tensor,
    ) -> Tensor:
        """Carry gradients of log-probability and entropy back to the logits, in closed form.

        ``d logprob / d logit[k] = [k = action] - p[k]`` and
        ``d entropy / d logit[k] = -p[k] * (log p[k] + entropy)``.

        Args:
            logprobs: (B, n) normalised.
            action: (B,) int64.
            logprob_gradient: (B,) gradient of a loss with respect to log p(action).
            entropy_gradient: Its gradient with respect to each row's entropy; a scalar tensor is
                never read back from its device.

        Returns:
            (B, n) gradient with respect to the logits.
        """
        weight = logprob_gradient.unsqueeze(-1)
        probability = logprobs.exp()
        gradient = (probability * -weight).scatter_add_(-1, action.unsqueeze(-1), weight)
        if isinstance(entropy_gradient, Tensor):
            entropy = _entropy(logprobs).unsqueeze(-1)
            gradient.sub_(entropy_gradient * probability * (logprobs + entropy))
        elif entropy_gradient != 0:
            entropy = _entropy(logprobs).unsqueeze(-1)
            gradient.addcmul_(probability, logprobs + entropy, value=-entropy_gradient)
        return gradient


def _pick(logprobs: Tensor, action: Tensor) -> Tensor:
    assert action.shape == logprobs.shape[:-1], (action.shape, logprobs.shape)
    return logprobs.gather(-1, action.unsqueeze(-1)).squeeze(-1)


def _entropy(logprobs: Tensor) -> Tensor:
    finite = logprobs.clamp_min(torch.finfo(logprobs.dtype).min)
    return -(logprobs.exp() * finite).sum(dim=-1)
