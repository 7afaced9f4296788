"""The settings of TD3."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from utils.config.algos.continuous import ActorCriticReplayConfig
from utils.config.algos.off_policy import OFF_POLICY_EFFECT_RULES
from utils.config.fields import NonNegativeNumber, PositiveInteger
from utils.config.schedule_spec import UnitScheduleField
from utils.config.validate import EffectRule


class TD3Config(ActorCriticReplayConfig):
    """Twin delayed deep deterministic policy gradient (Fujimoto et al., 2018)."""

    algo_id: Literal["td3"] = Field(description="The algorithm.")
    exploration_noise: UnitScheduleField = Field(
        default=0.1,
        description=(
            "Deviation of the noise upon actions while collecting, in units of half the range "
            "between their bounds, 0 to 1."
        ),
    )
    target_noise: NonNegativeNumber = Field(
        default=0.2,
        description="Deviation of the noise upon the target's actions, in the same units, >= 0.",
    )
    target_noise_limit: NonNegativeNumber = Field(
        default=0.5, description="Largest size of that noise, >= 0."
    )
    policy_delay: PositiveInteger = Field(
        default=2, description="Updates of the critics for each one of actor and targets, >= 1."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *OFF_POLICY_EFFECT_RULES,
        EffectRule(
            options=("target_noise_limit",),
            switches=("target_noise",),
            is_off=lambda config: config.target_noise == 0,
            reason="target_noise is 0",
        ),
        EffectRule(
            options=("eval_deterministic",),
            switches=(),
            is_off=lambda config: not config.eval_deterministic,
            reason="the policy of td3 draws nothing: it has one action for each observation",
        ),
    )
