"""The settings that all algorithms share which learn again and again from what they have stored."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

from pydantic import Field

from utils.config.algos.effect_rules import STORES_RAW_REWARDS
from utils.config.algos.phases import PhaseConfig, phase_problems, problem_of_hunger
from utils.config.fields import Flag, NonNegativeInteger, PositiveInteger, Text, UnitNumber
from utils.config.problems import Problem
from utils.config.schema import Config
from utils.config.validate import COMMON_EFFECT_RULES, EffectRule
from utils.phases import COLLECT, PhaseSpec, find_hungry_phases

REPLAY_EFFECT_RULES = (*COMMON_EFFECT_RULES, STORES_RAW_REWARDS)


def why_no_equal_parts(batch_size: int, *, n_processes: int) -> str | None:
    """Say that processes cannot have equal parts of every batch; None if they can."""
    if batch_size % n_processes == 0:
        return None
    return (
        f"batch_size {batch_size}, which is that of all of them, has no {n_processes} equal parts, "
        "one for each"
    )


class ReplayConfig(Config):
    """Settings of an agent that steps environments into a buffer and learns from the buffer.

    Units: *timesteps* are environment steps over all environments, *vec_steps* calls of the vector
    environment, *updates* are optimiser steps.
    """

    gamma: UnitNumber = Field(default=0.99, description="Discount of one step, 0 to 1.")
    learning_starts_timesteps: NonNegativeInteger = Field(
        default=1000,
        description="Timesteps of random actions before the first update, >= 0.",
    )
    train_every_vec_steps: PositiveInteger = Field(
        default=1,
        description="Vector steps between two stretches of updates, >= 1.",
    )
    steps_per_epoch: PositiveInteger = Field(
        default=1000,
        description=(
            "Vector steps of an epoch, >= 1. Evaluations, rows of metrics and checkpoints come "
            "between epochs."
        ),
    )
    buffer_folder: Text | None = Field(
        default=None,
        description=(
            "Folder on whose disk the buffer lies, in files without names that go with the "
            "process; null: in the memory of `device`."
        ),
    )
    save_replay: Flag = Field(
        default=True,
        description=(
            "Keep the buffer with checkpoints. false: less to write, and a resumed run fills an "
            "empty buffer (learning_starts_timesteps) before it learns on."
        ),
    )
    phases: tuple[PhaseConfig, ...] = Field(
        default=(),
        description="Stretches of the training, in order; []: one that collects and learns.",
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = REPLAY_EFFECT_RULES
    UPDATE_HOOKS: ClassVar[tuple[str, ...]] = ("update",)
    """Names of the work that a phase of this algorithm may ask for beside collect and evaluate."""

    @property
    @abstractmethod
    def exact_replay_ratio(self) -> Fraction:
        """Updates for each timestep."""

    @property
    @abstractmethod
    def timesteps_before_updates(self) -> int:
        """Timesteps that must be stored before the first update."""

    @property
    def phase_specs(self) -> list[PhaseSpec]:
        """What is done in which order; without `phases` collecting and learning to the end."""
        plain = PhaseSpec(name="learn", type="online", hooks=(COLLECT, *self.UPDATE_HOOKS))
        return [phase.spec() for phase in self.phases] or [plain]

    @property
    def round_timesteps(self) -> int:
        """Timesteps from one stretch of updates to the next."""
        return self.train_every_vec_steps * self.n_envs

    @property
    def ratio_key(self) -> str:
        """The setting that says how many updates there are for each timestep."""
        return "train_ratio" if "train_ratio" in type(self).model_fields else "replay_ratio"

    def why_no_update(self, last: int) -> str:
        """Say why a run that is through has made no update up to its last timestep."""
        first = self.timesteps_before_updates
        if first >= last:
            return f"learning begins at timestep {first:,}, and the run ended at {last:,}"
        return (
            f"{self.ratio_key} asks for one in {float(1 / self.exact_replay_ratio):,.0f} timesteps "
            f"from timestep {first:,} on, and the run ended at {last:,}"
        )

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in pace and phases."""
        problems = phase_problems(
            self.phases, update_hooks=self.UPDATE_HOOKS, max_timesteps=self.max_timesteps
        )
        if not problems:
            problems += self._hungry_phases()
            problems += self._phases_that_cannot_be_resumed()
        if self.train_every_vec_steps > self.steps_per_epoch:
            message = (
                f"train_every_vec_steps {self.train_every_vec_steps} exceeds steps_per_epoch "
                f"{self.steps_per_epoch}: the updates of an epoch come at its end at the latest"
            )
            problems.append(Problem(("train_every_vec_steps", "steps_per_epoch"), message))
        return problems

    def _phases_that_cannot_be_resumed(self) -> list[Problem]:
        return [
            Problem(
                (f"phases.{index}", "save_replay"),
                f"phase '{phase.name}' (phases.{index}) is offline and learns from the buffer, "
                "which save_replay: false does not keep: a run that stopped in this phase could "
                "never go on; set save_replay: true",
            )
            for index, phase in enumerate(self.phases)
            if phase.type == "offline" and not self.save_replay
        ]

    def _hungry_phases(self) -> list[Problem]:
        faults = find_hungry_phases(
            [phase.spec() for phase in self.phases],
            needs=lambda _: self.timesteps_before_updates,
            stores=lambda _: True,
            n_envs=self.n_envs,
            cycle_timesteps=self.steps_per_epoch * self.n_envs,
            max_timesteps=self.max_timesteps,
        )
        hint = (
            ": collect more before it, or lower learning_starts_timesteps, batch_size or the "
            "length of sequences"
        )
        return [problem_of_hunger(self.phases, fault, hint) for fault in faults]
