"""What every action distribution offers."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

Parameters = tuple[Tensor, ...]
"""What a policy head puts out: (logits,) or (mean, log_std)."""


class ActionDistribution(Protocol):
    """A family of distributions over actions; it holds sizes, never tensors.

    B stands for any leading batch shape. Randomness comes only from the generator argument.
    """

    def sample(self, parameters: Parameters, generator: torch.Generator | None) -> Tensor:
        """Draw one action for each row, (B, ...)."""

    def mode(self, parameters: Parameters) -> Tensor:
        """Return the most likely action of each row, (B, ...)."""

    def logprob(self, parameters: Parameters, action: Tensor) -> Tensor:
        """Return the log-probability (density) of each row's whole action, (B,)."""

    def entropy(self, parameters: Parameters) -> Tensor:
        """Return the entropy of each row in nats, (B,)."""

    def describe(self, parameters: Parameters) -> dict[str, Tensor]:
        """Return what people call the parameters, by name, one row for each row of B."""

    def logprob_and_entropy(self, parameters: Parameters, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return `logprob` and `entropy` of each row, sharing what they have in common."""
