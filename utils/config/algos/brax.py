"""The settings of a policy that was trained with Brax."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from utils.config.fields import PositiveInteger, Text, UnitNumber
from utils.config.schedule_spec import ScheduleField
from utils.config.schema import Config
from utils.config.spec import STRICT_MODEL
from utils.config.validate import COMMON_EFFECT_RULES, EffectRule


class BraxKwargs(BaseModel):
    """The shape of the networks of Brax's PPO."""

    model_config = STRICT_MODEL

    hidden_dims: tuple[PositiveInteger, ...] = Field(
        default=(32, 32, 32, 32), description="Units of each hidden layer of the actor."
    )
    value_dims: tuple[PositiveInteger, ...] = Field(
        default=(256, 256, 256, 256, 256), description="Units of each hidden layer of the critic."
    )


class BraxConfig(Config):
    """A policy of Brax's PPO, to play, inspect, evaluate and publish; Brax trains it."""

    algo_id: Literal["brax"] = Field(description="The algorithm.")
    policy_kwargs: BraxKwargs = Field(  # type: ignore[assignment]
        default=BraxKwargs(), description="Shape of the networks."
    )
    policy_lr: ScheduleField = Field(default=3e-4, description="Learning rate, >= 0.")
    gamma: UnitNumber = Field(default=0.97, description="Discount of its training, 0 to 1.")
    gae_lambda: UnitNumber = Field(default=0.95, description="Trace decay, 0 to 1: Brax's own.")
    trained_with: Text = Field(default="", description="Versions of Brax and JAX.")

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *COMMON_EFFECT_RULES,
        EffectRule(
            options=(
                "optimizer",
                "optimizer_kwargs",
                "max_grad_norm",
                "normalize_obs",
                "normalize_reward",
                "reward_scale",
                "action_masks",
            ),
            switches=(),
            is_off=lambda _: True,
            reason="Brax trains the policy, by the options of scripts/brax_train_policy.py",
        ),
    )
