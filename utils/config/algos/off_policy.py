"""The settings that the algorithms which learn from single transitions share."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from pydantic import Field

from utils.config.algos.effect_rules import HAS_NO_PRIORITIES
from utils.config.algos.replay import (
    REPLAY_EFFECT_RULES,
    ReplayConfig,
    why_no_equal_parts,
)
from utils.config.fields import (
    Flag,
    PositiveInteger,
    PositiveNumber,
    PositiveUnitNumber,
)
from utils.config.problems import Problem
from utils.config.schedule_spec import OptionalPositiveScheduleField, UnitScheduleField
from utils.config.validate import EffectRule
from utils.schedules import Schedulable, ScheduleSpec

OFF_POLICY_EFFECT_RULES = (
    *REPLAY_EFFECT_RULES,
    HAS_NO_PRIORITIES,
)


class OffPolicyConfig(ReplayConfig):
    """Settings of an agent that learns from stored transitions; see `ReplayConfig` for units."""

    max_grad_norm: OptionalPositiveScheduleField = Field(
        default=10.0, description="Bound of the norm of the whole gradient, > 0; null: no bound."
    )
    batch_size: PositiveInteger = Field(default=64, description="Transitions of one update, >= 1.")
    buffer_transitions: PositiveInteger = Field(
        default=100_000, description="Newest transitions that are kept, >= 1."
    )
    replay_ratio: PositiveNumber = Field(
        default=1.0,
        description=(
            "Updates for each timestep, > 0: 0.25 is one update for four of them, counted "
            "over all environments, exactly."
        ),
    )
    n_step: PositiveInteger = Field(
        default=1, description="Rewards that are summed before the bootstrap, >= 1."
    )
    prioritized_replay: Flag = Field(
        default=False, description="Draw transitions by the size of their last error."
    )
    priority_exponent: PositiveUnitNumber = Field(
        default=0.6, description="Power of the error in the probability of a draw, in (0, 1]."
    )
    importance_exponent: UnitScheduleField = Field(
        default=ScheduleSpec(start=0.4, end=1.0),
        description="Power of the weights that undo the bias of the draws; 1 undoes all of it.",
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = OFF_POLICY_EFFECT_RULES

    @property
    def hyperparameters(self) -> dict[str, Schedulable]:
        """The settings that may follow a schedule and are read, by name."""
        values = super().hyperparameters
        if not self.prioritized_replay:
            del values["importance_exponent"]
        return values

    @property
    def exact_replay_ratio(self) -> Fraction:
        """The replay ratio as the fraction that was meant."""
        return Fraction(self.replay_ratio).limit_denominator(1_000_000)

    @property
    def timesteps_before_updates(self) -> int:
        """Timesteps that must be stored before the first update: a batch of whole transitions."""
        first_batch = self.batch_size + (self.n_step - 1) * self.n_envs
        return max(self.learning_starts_timesteps, first_batch)

    def why_not_shared(self) -> str | None:
        """Say what keeps several processes from training together; None if nothing does."""
        return why_no_equal_parts(self.batch_size, n_processes=self.n_processes)

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in buffer, updates and phases."""
        problems = super().find_inconsistencies()
        if self.exact_replay_ratio == 0:
            message = (
                f"replay_ratio {self.replay_ratio:g} is less than one update for two million "
                "timesteps: nothing would be learnt"
            )
            problems.append(Problem(("replay_ratio",), message))
        size = self.buffer_transitions
        if self.learning_starts_timesteps > size:
            message = (
                f"learning_starts_timesteps {self.learning_starts_timesteps} exceeds "
                f"buffer_transitions {size}: the oldest would be lost before anything is learnt"
            )
            problems.append(Problem(("learning_starts_timesteps", "buffer_transitions"), message))
        if self.timesteps_before_updates > size >= self.learning_starts_timesteps:
            message = (
                f"buffer_transitions {size} cannot hold a batch: batch_size {self.batch_size}"
                f" with n_step {self.n_step} and n_envs {self.n_envs} needs "
                f"{self.timesteps_before_updates}"
            )
            problems.append(Problem(("buffer_transitions", "batch_size"), message))
        return problems
