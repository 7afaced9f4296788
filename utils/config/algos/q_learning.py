"""The settings of tabular Q-learning."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from utils.config.fields import Number, PositiveInteger, UnitNumber
from utils.config.schedule_spec import UnitScheduleField
from utils.config.schema import Config
from utils.config.validate import COMMON_EFFECT_RULES, EffectRule
from utils.schedules import ScheduleSpec

_OF_NETWORKS = (
    "policy_kwargs",
    "optimizer",
    "optimizer_kwargs",
    "max_grad_norm",
    "normalize_obs",
    "normalize_reward",
)


class QLearningConfig(Config):
    """Q-learning (Watkins, 1989): one number for each pair of state and action."""

    algo_id: Literal["q_learning"] = Field(description="The algorithm.")
    policy_lr: UnitScheduleField = Field(
        description="Step size: how far a value moves towards its target, 0 to 1."
    )
    gamma: UnitNumber = Field(default=0.99, description="Discount of one step, 0 to 1.")
    epsilon: UnitScheduleField = Field(
        default=ScheduleSpec(start=1.0, end=0.05, from_=0.0, to=0.5),
        description="Probability of a random action while collecting, 0 to 1.",
    )
    initial_value: Number = Field(
        default=0.0,
        description="Value of every pair at the start; above what can be had, all is tried.",
    )
    steps_per_epoch: PositiveInteger = Field(
        default=1000, description="Vector steps of an epoch, each of them learnt from, >= 1."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *COMMON_EFFECT_RULES,
        EffectRule(
            options=_OF_NETWORKS,
            switches=(),
            is_off=lambda _: True,
            reason="q_learning has a table and no network",
        ),
    )
