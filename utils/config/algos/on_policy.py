"""The settings that the on-policy algorithms share."""

from __future__ import annotations

from pydantic import Field

from utils.config.fields import PositiveInteger
from utils.config.schedule_spec import ScheduleField, UnitScheduleField
from utils.config.schema import Config, PolicyKwargs
from utils.config.validate import COMMON_EFFECT_RULES, EffectRule

ON_POLICY_EFFECT_RULES = (
    *COMMON_EFFECT_RULES,
    EffectRule(
        options=("policy_kwargs.memory_dim",),
        switches=("policy_kwargs.memory",),
        is_off=lambda config: config.policy_kwargs.memory == "none",
        reason="policy_kwargs.memory is none",
    ),
)


class OnPolicyConfig(Config):
    """Settings of an agent that learns from the rollout that its own policy just made."""

    policy_kwargs: PolicyKwargs = Field(
        default=PolicyKwargs(), description="Shape of the networks."
    )
    gamma: UnitScheduleField = Field(default=0.99, description="Discount of one step, 0 to 1.")
    ent_coef: ScheduleField = Field(default=0.0, description="Weight of the entropy bonus, >= 0.")
    vf_coef: ScheduleField = Field(default=0.5, description="Weight of the value loss, >= 0.")
    rollouts_per_epoch: PositiveInteger = Field(
        default=1,
        description=(
            "Rollouts and updates of one epoch, >= 1. Schedules, evaluations, rows of metrics and "
            "checkpoints come between epochs: more of them cost less where an update takes less "
            "than a millisecond."
        ),
    )

    def why_not_shared(self) -> str | None:
        """Say what keeps several processes from training together; None if nothing does."""
        return None
