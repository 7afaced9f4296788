"""The settings of agents that learn from replayed sequences."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

from pydantic import Field

from utils.config.algos.replay import ReplayConfig, why_no_equal_parts
from utils.config.fields import NonNegativeInteger, PositiveInteger
from utils.config.problems import Problem
from utils.config.schedule_spec import OptionalPositiveScheduleField


class SequenceConfig(ReplayConfig):
    """What all agents share that learn from stretches of what was experienced."""

    batch_size: PositiveInteger = Field(default=16, description="Sequences of one update, >= 1.")
    buffer_steps: PositiveInteger = Field(
        default=1_000_000,
        description="Newest steps that are kept, >= 1; the end of an episode counts as one.",
    )
    lr_warmup_updates: NonNegativeInteger = Field(
        default=1000, description="Updates over which learning rates rise from 0, >= 0."
    )
    max_grad_norm: OptionalPositiveScheduleField = Field(
        default=None, description="Bound of the norm of the whole gradient, > 0; null: no bound."
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto",
        description="Of the arithmetic; auto: bfloat16 on a GPU and float32 on the CPU.",
    )

    CROSSES_EPISODES: ClassVar[bool] = True
    """Whether a sequence may hold the end of an episode and the beginning of the next."""

    @property
    @abstractmethod
    def rows_of_sequence(self) -> int:
        """Rows that are drawn for a sequence, those that only lead in included."""

    @property
    def rows_of_context(self) -> int:
        """Rows at the beginning of a sequence that only lead in."""
        return 0

    @property
    def serves_newest_first(self) -> bool:
        """Whether every new sequence is learnt from once before others are drawn."""
        return False

    @property
    def priority_power(self) -> float | None:
        """Power of the last error in the probability of a draw; None: all are equally likely."""
        return None

    def why_not_shared(self) -> str | None:
        """Say what keeps several processes from training together; None if nothing does."""
        return why_no_equal_parts(self.batch_size, n_processes=self.n_processes)

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in buffer, arithmetic and phases."""
        problems = super().find_inconsistencies()
        needed = max(self.timesteps_before_updates, self.rows_of_sequence * self.n_envs)
        if self.buffer_steps < needed:
            message = (
                f"buffer_steps {self.buffer_steps} cannot hold what comes before the first update: "
                f"{needed} steps"
            )
            problems.append(Problem(("buffer_steps", "batch_size"), message))
        if self.device == "cpu" and self.precision == "bfloat16":
            message = "precision bfloat16 is for a GPU: on the CPU it is slower than float32"
            problems.append(Problem(("precision", "device"), message))
        return problems
