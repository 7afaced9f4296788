"""The settings of PlaNet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from typing_extensions import override

from utils.config.algos.sized import implied_settings, with_shape
from utils.config.algos.world_model import (
    WORLD_MODEL_EFFECT_RULES,
    WorldModelConfig,
    WorldModelKwargs,
)
from utils.config.fields import (
    Flag,
    NonNegativeNumber,
    PlainMapping,
    PositiveInteger,
    Text,
    UnitNumber,
)
from utils.config.problems import Problem
from utils.config.schedule_spec import ScheduleField
from utils.config.validate import EffectRule

PUBLISHED: dict[str, Any] = {
    "agc": None,
    "max_grad_norm": 1000.0,
    "lr_warmup_updates": 0,
    "batch_size": 50,
    "sequence_length": 50,
    "train_ratio": 1000.0,  # 100 updates for each episode of 250 timesteps
    "learning_starts_timesteps": 1250,
    "replay_context": 0,
    "newest_first": False,
    "representation_scale": 1.0,
    "free_nats": 3.0,
    "free_nats_of_mean": True,
    "reward_loss_scale": 10.0,
}
PUBLISHED_KWARGS: dict[str, Any] = {
    "latent": "gaussian",
    "choices": 30,
    "dynamics": "gru",
    "deter": 200,
    "hidden": 200,
    "prior_layers": 1,
    "units": 300,
    "depth": 32,
    "pictures": "strided",
    "reward_layers": 3,
    "numbers": "normal",
    "norm": "none",
    "activation": "relu",
}
"""What PlaNet sets where a config does not: Hafner et al. 2019, "Learning latent dynamics for
planning from pixels", appendix A."""


class PlanetConfig(WorldModelConfig):
    """PlaNet: plans with a learnt model of the world, and has neither actor nor critic."""

    algo_id: Literal["planet"] = Field(description="The algorithm.")
    optimizer: Text = Field(
        default="Adam", description="LaProp, or the class name of an optimiser in torch.optim."
    )
    optimizer_kwargs: PlainMapping = Field(
        default={"eps": 1e-4}, description="Further arguments of the optimiser."
    )
    policy_lr: ScheduleField = Field(default=1e-3, description="Learning rate, >= 0.")
    gamma: UnitNumber = Field(
        default=1.0, description="Discount of one step of a plan, 0 to 1; 1 as published."
    )
    predict_end: Flag = Field(
        default=False,
        description="Learn whether episodes go on, and plan for what is reached; false: no end.",
    )
    planning_horizon: PositiveInteger = Field(
        default=12, description="Steps that a plan looks ahead, >= 1."
    )
    planning_iterations: PositiveInteger = Field(
        default=10, description="Times that a plan is improved before each action, >= 1."
    )
    planning_candidates: PositiveInteger = Field(
        default=1000, description="Sequences of actions that are tried each time, >= 2."
    )
    planning_elites: PositiveInteger = Field(
        default=100,
        description="The best of them, of whose mean and deviation the next are drawn, >= 1.",
    )
    exploration_noise: NonNegativeNumber = Field(
        default=0.3,
        description="Deviation of the noise on actions of the training in [-1, 1] units, >= 0.",
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *WORLD_MODEL_EFFECT_RULES,
        EffectRule(
            options=("policy_kwargs.continue_layers",),
            switches=("predict_end",),
            is_off=lambda config: not config.predict_end,
            reason="predict_end is false",
        ),
    )

    @model_validator(mode="wrap")
    @classmethod
    def _spell_out_published(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Write out what is published where the config has none of its own."""
        if not isinstance(data, Mapping):
            return handler(data)
        defaults = _published_with(data.get("optimizer", "Adam"))
        return with_shape(handler, data, defaults=defaults, kind=WorldModelKwargs)

    @override
    def implied_settings(self) -> dict[str, Any]:
        return implied_settings(self.policy_kwargs, _published_with(self.optimizer))

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in model, plans and phases."""
        problems = super().find_inconsistencies()
        if self.planning_elites >= self.planning_candidates:
            message = (
                f"planning_elites {self.planning_elites} must be fewer than planning_candidates "
                f"{self.planning_candidates}: the best of all are no choice"
            )
            problems.append(Problem(("planning_elites", "planning_candidates"), message))
        return problems


def _published_with(optimizer: Any) -> dict[str, Any]:
    """Return what is published where a config has none of its own."""
    published = {**PUBLISHED, "policy_kwargs": PUBLISHED_KWARGS}
    if optimizer != "Adam":
        published["optimizer_kwargs"] = {}
    if optimizer == "LaProp":
        del published["agc"]
    return published
