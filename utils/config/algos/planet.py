"""The settings of PlaNet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Gt
from pydantic import Field, model_validator

from utils.config.algos.world_model import (
    SIZES,
    WORLD_MODEL_EFFECT_RULES,
    WorldModelConfig,
)
from utils.config.fields import (
    Flag,
    NonNegativeInteger,
    NonNegativeNumber,
    PlainMapping,
    PositiveInteger,
    PositiveNumber,
    Text,
    UnitNumber,
)
from utils.config.problems import Problem
from utils.config.schedule_spec import OptionalPositiveScheduleField, ScheduleField
from utils.config.validate import EffectRule

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
"""Hafner et al. 2019, "Learning latent dynamics for planning from pixels", appendix A."""


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
    agc: PositiveNumber | None = Field(
        default=None,
        description=(
            "Bound of each gradient's norm by the norm of its parameter, > 0; null: none. LaProp "
            "only."
        ),
    )
    max_grad_norm: OptionalPositiveScheduleField = Field(
        default=1000.0, description="Bound of the norm of the whole gradient, > 0; null: no bound."
    )
    lr_warmup_updates: NonNegativeInteger = Field(
        default=0, description="Updates over which the learning rate rises from 0, >= 0."
    )
    gamma: UnitNumber = Field(
        default=1.0, description="Discount of one step of a plan, 0 to 1; 1 as published."
    )
    batch_size: PositiveInteger = Field(default=50, description="Sequences of one update, >= 1.")
    sequence_length: Annotated[PositiveInteger, Gt(1)] = Field(
        default=50, description="Steps of a sequence, >= 2."
    )
    train_ratio: PositiveNumber = Field(
        default=1000.0,
        description=(
            "Replayed steps for each timestep, > 0; so updates for each timestep are train_ratio / "
            "(batch_size * sequence_length). 100 updates for each episode, as published, are 1000 "
            "where an episode is of 250 timesteps."
        ),
    )
    learning_starts_timesteps: NonNegativeInteger = Field(
        default=1250, description="Timesteps of random actions at the start, >= 0."
    )
    replay_context: Literal[0, 1] = Field(
        default=0,
        description=(
            "1: sequences go on from what the model remembered of the step before them, kept in "
            "the buffer and renewed by each update; 0: they begin with an empty memory."
        ),
    )
    newest_first: Flag = Field(
        default=False, description="Learn from every new sequence once before others are drawn."
    )
    representation_scale: NonNegativeNumber = Field(
        default=1.0, description="Weight of making what is seen easier to expect, >= 0."
    )
    free_nats: NonNegativeNumber = Field(
        default=3.0, description="Divergence of prior and posterior that costs nothing, in nats."
    )
    free_nats_of_mean: Flag = Field(
        default=True,
        description="free_nats bound the mean over all states, not each state on its own.",
    )
    reward_loss_scale: PositiveNumber = Field(
        default=10.0, description="Weight of the loss of predicted rewards, > 0."
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

    @model_validator(mode="before")
    @classmethod
    def _spell_out_published(cls, data: Any) -> Any:
        """Write out the published shape and optimiser where the config has none of its own."""
        if not isinstance(data, Mapping):
            return data
        given = data.get("policy_kwargs") or {}
        sizes = SIZES.get(given.get("size", ""), {})
        kwargs = {k: v for k, v in PUBLISHED_KWARGS.items() if k not in sizes}
        spelt = {**data, "policy_kwargs": {**kwargs, **given}}
        if data.get("optimizer", "Adam") != "Adam":
            spelt.setdefault("optimizer_kwargs", {})
        if data.get("optimizer") == "LaProp":
            spelt.setdefault("agc", WorldModelConfig.model_fields["agc"].default)
        return spelt

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in model, plans and phases."""
        problems = super().find_inconsistencies()
        if self.planning_elites >= self.planning_candidates:
            message = (
                f"planning_elites {self.planning_elites} must be fewer than planning_candidates "
                f"{self.planning_candidates}: the best of all are no choice"
            )
            problems.append(Problem(("planning_elites", "planning_candidates"), message))
        if self.optimizer != "LaProp" and self.agc is not None:
            message = f"'agc' has no effect: only LaProp clips adaptively, not {self.optimizer}"
            problems.append(Problem(("agc", "optimizer"), message))
        return problems
