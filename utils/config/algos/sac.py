"""The settings of SAC."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from utils.config.algos.continuous import ActorCriticReplayConfig
from utils.config.algos.off_policy import OFF_POLICY_EFFECT_RULES
from utils.config.fields import Number, PositiveNumber
from utils.config.validate import EffectRule


class SACConfig(ActorCriticReplayConfig):
    """Soft actor-critic (Haarnoja et al., 2018) for actions of a Box and for choices."""

    algo_id: Literal["sac"] = Field(description="The algorithm.")
    ent_coef: PositiveNumber | Literal["auto"] = Field(
        default="auto",
        description="Temperature, the worth of a nat of entropy, > 0; auto: learn it.",
    )
    ent_coef_init: PositiveNumber = Field(
        default=1.0, description="Where a learnt temperature begins, > 0."
    )
    target_entropy: Number | Literal["auto"] = Field(
        default="auto",
        description=(
            "Entropy in nats that a learnt temperature keeps; auto: minus the number of action "
            "dimensions, or 0.98 ln(n) for n allowed choices."
        ),
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *OFF_POLICY_EFFECT_RULES,
        EffectRule(
            options=("ent_coef_init", "target_entropy"),
            switches=("ent_coef",),
            is_off=lambda config: config.ent_coef != "auto",
            reason="ent_coef is a number, not auto",
        ),
    )
