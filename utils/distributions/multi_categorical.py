"""Several independent choices at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from utils.distributions.categorical import Categorical
from utils.distributions.protocol import Parameters


@dataclass(frozen=True, slots=True)
class MultiCategorical:
    """Independent choices of n_k options each.

    Parameters are (logits (B, sum n_k),), the groups one after another; actions are (B, K) int64.
    """

    sizes: tuple[int, ...]

    def _groups(self, parameters: Parameters) -> tuple[Tensor, ...]:
        assert parameters[0].shape[-1] == sum(self.sizes), (parameters[0].shape, self.sizes)
        return parameters[0].split_with_sizes(self.sizes, dim=-1)

    def sample(self, parameters: Parameters, generator: torch.Generator | None) -> Tensor:
        """Draw one index of each group, (B, K)."""
        return torch.stack(
            [Categorical(g.shape[-1]).sample((g,), generator) for g in self._groups(parameters)],
            dim=-1,
        )

    def mode(self, parameters: Parameters) -> Tensor:
        """Return the most likely index of each group, (B, K)."""
        return torch.stack([g.argmax(dim=-1) for g in self._groups(parameters)], dim=-1)

    def logprob(self, parameters: Parameters, action: Tensor) -> Tensor:
        """Return the sum of the groups' log-probabilities, (B,)."""
        groups = self._groups(parameters)
        assert action.shape == (*groups[0].shape[:-1], len(groups)), (action.shape, self.sizes)
        total = torch.zeros_like(groups[0][..., 0])
        for k, logits in enumerate(groups):
            total = total + Categorical(logits.shape[-1]).logprob((logits,), action[..., k])
        return total

    def entropy(self, parameters: Parameters) -> Tensor:
        """Return the sum of the groups' entropies in nats, (B,)."""
        groups = self._groups(parameters)
        total = torch.zeros_like(groups[0][..., 0])
        for logits in groups:
            total = total + Categorical(logits.shape[-1]).entropy((logits,))
        return total

    def describe(self, parameters: Parameters) -> dict[str, Tensor]:
        """Return `action_probabilities`, (B, sum n_k): those of each group add up to 1."""
        groups = [logits.softmax(dim=-1) for logits in self._groups(parameters)]
        return {"action_probabilities": torch.cat(groups, dim=-1)}

    def logprob_and_entropy(self, parameters: Parameters, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return both, (B,) each."""
        return self.logprob(parameters, action), self.entropy(parameters)
