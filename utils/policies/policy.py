"""What every policy offers to whoever steps environments with it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from utils.normalization import ObservationNormalizer
from utils.policies.actor_critic import Observation, PolicyStep


@runtime_checkable
class Policy(Protocol):
    """A torch module that chooses actions; `ActorCritic` and `QNetwork` are such.

    Collection, evaluation, playback, the inspector and the export need no more than this. All
    methods but `normalize` read *normalised* observations.
    """

    has_memory: bool
    """Whether what it does depends on what it saw before."""
    has_masks: bool
    """Whether it is given action masks."""
    normalizer: ObservationNormalizer

    def initial_state(self, n: int) -> Tensor | None:
        """Return the memory of n environments at the start of an episode; None without one."""

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
        """Choose an action for each row, in the units of the environment; see `ActorCritic.act`."""

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return what a choice rests on, by name."""

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells of each row: the best `action`, and why."""

    def action_std(self) -> float | None:
        """Return the mean deviation of continuous actions; None for discrete ones."""
