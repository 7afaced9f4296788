"""The settings of PPO."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainValidator
from pydantic_core import PydanticCustomError

from utils.config.algos.exploration import (
    EXPLORATION_RULES,
    ExplorationConfig,
    exploration_problems,
)
from utils.config.algos.on_policy import ON_POLICY_EFFECT_RULES, OnPolicyConfig
from utils.config.fields import PositiveInteger, PositiveUnitNumber
from utils.config.problems import Problem
from utils.config.schedule_spec import (
    OptionalPositiveScheduleField,
    OptionalScheduleField,
    ScheduleField,
    UnitScheduleField,
)
from utils.config.validate import EffectRule
from utils.schedules import Schedulable


def _batch_size(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        valid = False
    elif isinstance(value, float) and value > 1:
        valid, value = value.is_integer(), int(value)
    else:
        valid = value > 0
    if not valid:
        raise PydanticCustomError(
            "batch_size", "must be a whole number >= 1 or a fraction of the rollout in (0, 1.0]"
        )
    result: int | float = value
    return result


class PPOConfig(OnPolicyConfig):
    """Proximal policy optimisation (Schulman et al., 2017)."""

    algo_id: Literal["ppo"] = Field(description="The algorithm.")
    n_steps: PositiveInteger = Field(description="Vector steps of one rollout, >= 1.")
    n_epochs: PositiveInteger = Field(default=10, description="Passes over each rollout, >= 1.")
    batch_size: Annotated[int | float, PlainValidator(_batch_size)] = Field(
        description=(
            "Samples of a minibatch, >= 1, a divisor of n_envs * n_steps; or, with a decimal "
            "point, the fraction of the rollout in (0, 1.0]: 1.0 is the whole rollout, 1 is one "
            "sample."
        )
    )
    sequence_length: PositiveInteger | None = Field(
        default=None,
        description=(
            "Steps over which a policy with a memory learns to remember, a divisor of n_steps; "
            "minibatches are of whole sequences. null: n_steps."
        ),
    )
    gae_lambda: UnitScheduleField = Field(
        default=0.95, description="Decay of the advantage trace, 0 to 1."
    )
    clip_range: ScheduleField = Field(
        default=0.2, description="How far the probability ratio may leave 1 to gain anything, >= 0."
    )
    clip_range_vf: OptionalScheduleField = Field(
        default=None,
        description=(
            "How far a value may move in one update, in return units, or in their deviations with "
            "value_normalization: popart; null: free."
        ),
    )
    target_kl: OptionalPositiveScheduleField = Field(
        default=None,
        description="Divergence from the old policy that ends an update, nats; null: never.",
    )
    normalize_advantages: Literal["batch", "rollout", "none"] = Field(
        default="batch", description="Over which samples advantages get mean 0 and deviation 1."
    )
    value_normalization: Literal["none", "popart"] = Field(
        default="none",
        description=(
            "popart: the critic learns returns of mean 0 and deviation 1, and its outputs stay "
            "what they are when the moments move."
        ),
    )
    popart_beta: PositiveUnitNumber = Field(
        default=0.1,
        description="Weight of the newest rollout in the moments of the returns, in (0, 1].",
    )
    exploration: ExplorationConfig = Field(
        default=ExplorationConfig(), description="A bonus for what is new."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *ON_POLICY_EFFECT_RULES,
        *EXPLORATION_RULES,
        EffectRule(
            options=("popart_beta",),
            switches=("value_normalization",),
            is_off=lambda config: config.value_normalization == "none",
            reason="value_normalization is none",
        ),
        EffectRule(
            options=("sequence_length",),
            switches=("policy_kwargs.memory",),
            is_off=lambda config: config.policy_kwargs.memory == "none",
            reason="policy_kwargs.memory is none",
        ),
    )

    @property
    def hyperparameters(self) -> dict[str, Schedulable]:
        """The settings that may follow a schedule and are not null, by dotted name."""
        values = super().hyperparameters
        if self.exploration.kind != "none":
            values["exploration.coef"] = self.exploration.coef
            values["exploration.extrinsic_coef"] = self.exploration.extrinsic_coef
        return values

    @property
    def rollout_size(self) -> int:
        """Samples of one rollout."""
        return self.n_envs * self.n_steps

    @property
    def resolved_batch_size(self) -> int:
        """Samples of one minibatch: `batch_size`, or its fraction of the rollout rounded down."""
        if isinstance(self.batch_size, int):
            return self.batch_size
        # The tiny addition undoes binary rounding: 0.29 * 100 is 28.999999999999996.
        return math.floor(self.batch_size * self.rollout_size + 1e-9)

    @property
    def resolved_sequence_length(self) -> int:
        """Steps of one sequence; 1 without a memory, where every step stands for itself."""
        if self.policy_kwargs.memory == "none":
            return 1
        return self.sequence_length or self.n_steps

    def why_not_shared(self) -> str | None:
        """Say what keeps several processes from training together; None if nothing does."""
        if self.exploration.kind != "none":
            return f"exploration.kind: {self.exploration.kind} learns what is new in one process"
        size, n = self.resolved_batch_size, self.n_processes
        if self.vectorization == "torch" and size % n:
            return f"a minibatch of {size} samples has no {n} equal parts, one for each"
        return None

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in rollout, minibatch, sequences and normalisation."""
        problems = exploration_problems(self.exploration)
        if fault := _minibatch_fault(self):
            problems.append(Problem(("batch_size", "n_envs", "n_steps"), fault))
        elif fault := _sequence_fault(self):
            problems.append(Problem(("sequence_length", "n_steps", "batch_size"), fault))
        return problems


def _minibatch_fault(config: PPOConfig) -> str | None:
    rollout, batch = config.rollout_size, config.resolved_batch_size
    written = f"batch_size {config.batch_size}"
    if batch != config.batch_size:
        written += f" of the rollout is {batch} samples, which"
    origin = f"the rollout of {rollout} samples (n_envs {config.n_envs} x n_steps {config.n_steps})"
    if batch == 0:
        return f"{written} is no whole sample of {origin}"
    if batch > rollout:
        return f"{written} exceeds {origin}"
    if rollout % batch:
        count, rest = divmod(rollout, batch)
        return (
            f"{written} does not divide {origin}: {rollout} = {count} x {batch} + {rest}; "
            f"nearest sizes that do: {_nearest_divisors(rollout, batch)}"
        )
    if batch == 1 and config.normalize_advantages == "batch":
        return (
            f"{written} is a single sample, which has no deviation to normalise by: raise "
            "batch_size (1.0 is the whole rollout) or set normalize_advantages to rollout or none"
        )
    if rollout == 1 and config.normalize_advantages == "rollout":
        return f"normalize_advantages: rollout needs more than one sample, {origin}"
    return None


def _sequence_fault(config: PPOConfig) -> str | None:
    length, batch = config.resolved_sequence_length, config.resolved_batch_size
    if config.n_steps % length:
        return (
            f"sequence_length {length} does not divide n_steps {config.n_steps}; nearest lengths "
            f"that do: {_nearest_divisors(config.n_steps, length)}"
        )
    if batch % length:
        name = "sequence_length" if config.sequence_length else "sequence_length (n_steps)"
        return (
            f"a minibatch of batch_size {batch} is not of whole sequences of {name} {length}: "
            "make batch_size a multiple of it"
        )
    return None


def _nearest_divisors(rollout: int, batch: int) -> str:
    divisors = [size for size in range(1, rollout + 1) if rollout % size == 0]
    below = max(size for size in divisors if size < batch)
    above = min((size for size in divisors if size > batch), default=None)
    return f"{below}" if above is None else f"{below} and {above}"
