"""What a policy offers that draws sequences of actions, for those who want to see several."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from utils.policies.actor_critic import Observation
from utils.policies.policy import Policy


class _Horizons(Protocol):
    observations: int
    execution: int


@runtime_checkable
class DrawsSequences(Policy, Protocol):
    """A policy with a memory that carries out the beginning of sequences that it draws."""

    horizons: _Horizons

    def n_left(self, state: Tensor) -> Tensor:
        """Return how many actions are still to be carried out, (B,)."""

    def sample_sequences(
        self, observation: Observation, *, state: Tensor, n: int, generator: torch.Generator
    ) -> Tensor:
        """Draw n sequences for one row; see `DiffusionPolicy.sample_sequences`."""
