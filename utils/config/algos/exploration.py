"""The settings of exploration by a bonus for what is new."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from annotated_types import Gt, Lt
from pydantic import BaseModel, Field

from utils.config.fields import (
    Flag,
    Number,
    PositiveInteger,
    PositiveNumber,
    PositiveUnitNumber,
    UnitNumber,
)
from utils.config.problems import Problem
from utils.config.schedule_spec import ScheduleField
from utils.config.spec import STRICT_MODEL
from utils.config.validate import EffectRule


class ExplorationConfig(BaseModel):
    """A bonus for what is new, and the networks that measure it."""

    model_config = STRICT_MODEL

    kind: Literal["none", "rnd", "icm"] = Field(
        default="none",
        description=(
            "rnd: error in predicting a random network's output for the next observation; icm: "
            "error in foreseeing the features of the next observation from the action."
        ),
    )
    coef: ScheduleField = Field(
        default=1.0,
        description=(
            "Weight of the advantage of the bonus, >= 0. The bonus is scaled to a return of "
            "deviation 1, so it is in units of extrinsic return."
        ),
    )
    extrinsic_coef: ScheduleField = Field(
        default=1.0,
        description="Weight of the advantage of the environment's reward, >= 0; 0: curiosity only.",
    )
    gamma: UnitNumber = Field(default=0.99, description="Discount of the bonus, 0 to 1.")
    episodic: Flag = Field(
        default=False,
        description="The return of the bonus ends with the episode; false: it goes on in the next.",
    )
    feature_dim: PositiveInteger = Field(
        default=128, description="Numbers of the features that are predicted, >= 1."
    )
    hidden_dims: tuple[PositiveInteger, ...] = Field(
        default=(128, 128),
        description="Units of each hidden layer of the bonus networks, >= 1; [] for linear ones.",
    )
    learning_rate: PositiveNumber = Field(
        default=1e-4, description="Learning rate (Adam) of the bonus networks, > 0."
    )
    update_proportion: PositiveUnitNumber = Field(
        default=1.0,
        description=(
            "Share of the samples that the bonus networks learn from, in (0, 1]: less of them "
            "where many environments would make the bonus vanish too soon."
        ),
    )
    clip_obs: PositiveNumber = Field(
        default=5.0,
        description=(
            "Bound of an observation as the bonus networks see it, in standard deviations, > 0."
        ),
    )
    forward_weight: Annotated[Number, Gt(0), Lt(1)] = Field(
        default=0.2,
        description="icm: weight of the forward loss in (0, 1); the inverse loss has the rest.",
    )


_ICM_ONLY = ("forward_weight",)


def _dotted(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"exploration.{name}" for name in names)


EXPLORATION_RULES = (
    EffectRule(
        options=_dotted(tuple(name for name in ExplorationConfig.model_fields if name != "kind")),
        switches=("exploration.kind",),
        is_off=lambda config: config.exploration.kind == "none",
        reason="exploration.kind is none",
    ),
    EffectRule(
        options=_dotted(_ICM_ONLY),
        switches=("exploration.kind",),
        is_off=lambda config: config.exploration.kind == "rnd",
        reason="exploration.kind is rnd, which has no forward model",
    ),
)


def exploration_problems(exploration: Any) -> list[Problem]:
    """List what does not fit together in an `ExplorationConfig`."""
    if exploration.kind == "none" or exploration.coef != 0:
        return []
    fault = f"exploration.coef 0 gives the bonus of exploration.kind: {exploration.kind} no weight"
    keys = ("exploration.coef", "exploration.kind")
    return [Problem(keys, f"{fault}: raise it or set kind to none")]
