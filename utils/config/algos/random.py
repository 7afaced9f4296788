"""The settings of the random agent."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from utils.config.fields import PositiveInteger
from utils.config.schedule_spec import ScheduleField
from utils.config.schema import Config
from utils.config.validate import COMMON_EFFECT_RULES, EffectRule

_OF_LEARNERS = (
    "policy_kwargs",
    "policy_lr",
    "optimizer",
    "optimizer_kwargs",
    "max_grad_norm",
    "normalize_obs",
    "normalize_reward",
    "reward_scale",
)


class RandomConfig(Config):
    """Actions drawn evenly: the floor that every other agent is measured against."""

    algo_id: Literal["random"] = Field(description="The algorithm.")
    policy_lr: ScheduleField = Field(default=0.0, description="Not used: nothing is learnt.")
    steps_per_epoch: PositiveInteger = Field(
        default=1000, description="Vector steps of an epoch, >= 1."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *COMMON_EFFECT_RULES,
        EffectRule(
            options=_OF_LEARNERS,
            switches=(),
            is_off=lambda _: True,
            reason="random learns nothing",
        ),
    )
