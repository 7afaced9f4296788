"""What a policy offers that draws sequences of actions, for those who want to see several."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from utils.policies.actor_critic import Observation, PolicyStep


class _Horizons(Protocol):
    observations: int
    execution: int


@runtime_checkable
class DrawsSequences(Protocol):
    """A policy with a memory that carries out the beginning of sequences that it draws."""

    horizons: _Horizons

    def initial_state(self, n: int) -> Tensor:
        """Return the memory of n environments at the start of an episode."""

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations (B, ...) as the other methods read them."""

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action for each row; see `Policy`."""

    def n_left(self, state: Tensor) -> Tensor:
        """Return how many actions are still to be carried out, (B,)."""

    def sample_sequences(
        self, observation: Observation, *, state: Tensor, n: int, generator: torch.Generator
    ) -> Tensor:
        """Draw n sequences for one row; see `DiffusionPolicy.sample_sequences`."""
