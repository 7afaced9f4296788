"""What a policy that plans tells of one plan, and what such a policy offers for it."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from utils.planning.plan import Stage
from utils.policies.actor_critic import Observation
from utils.policies.policy import Policy
from utils.world_models.actions import ActionCode


class Foreseen(NamedTuple):
    """What a model expects of sequences of H actions; the worth is ``sum(weight * worth)``."""

    worth: Tensor
    """(H, ...) rewards, or (H + 1, ...) where the value of the last state counts too."""
    weight: Tensor
    """Of the same shape: discount, and whether the episode still goes on."""


class PlanTrace(NamedTuple):
    """How N plans came about; actions lie in [-1, 1]."""

    action: Tensor
    """(N, A) what is done."""
    state: Tensor
    """(N, state_dim) what is remembered."""
    stages: list[Stage]
    """One for each iteration."""
    sequence: Tensor
    """(H, N, A) the plan: the best elite, or the last mean."""
    foreseen: Foreseen
    """Of the plan, (H, N) or (H + 1, N)."""
    n_proposals: int
    """Candidates that a policy prior proposed."""


@runtime_checkable
class Planner(Policy, Protocol):
    """A policy with a memory that plans every action."""

    code: ActionCode

    def trace_plan(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool,
        state: Tensor,
    ) -> PlanTrace:
        """Plan as `act` does, with the same draws, and tell how."""
