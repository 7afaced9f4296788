"""The settings of behaviour cloning."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from utils.config.algos.imitation import IMITATION_EFFECT_RULES, ImitationConfig
from utils.config.schedule_spec import ScheduleField
from utils.config.schema import NetworkKwargs
from utils.config.validate import EffectRule


class BCConfig(ImitationConfig):
    """Behaviour cloning (Pomerleau, 1989): the action of the demonstrations, by regression."""

    algo_id: Literal["bc"] = Field(description="The algorithm.")
    policy_lr: ScheduleField = Field(default=1e-3, description="Learning rate, >= 0.")
    policy_kwargs: NetworkKwargs = Field(
        default=NetworkKwargs(hidden_dims=(256, 256), activation="relu"),
        description="Shape of the network.",
    )
    clone: Literal["auto", "deterministic", "gaussian", "categorical"] = Field(
        default="auto",
        description=(
            "deterministic: one action, by squared error; gaussian: mean and deviation, by "
            "likelihood; categorical: the choices' probabilities, by likelihood; auto: "
            "deterministic for numbers, categorical for choices."
        ),
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = IMITATION_EFFECT_RULES
