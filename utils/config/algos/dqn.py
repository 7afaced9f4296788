"""The settings of DQN and of what Rainbow adds to it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge
from pydantic import Field

from utils.config.algos.off_policy import OFF_POLICY_EFFECT_RULES, OffPolicyConfig
from utils.config.fields import (
    Flag,
    Integer,
    Number,
    PositiveInteger,
    PositiveNumber,
    PositiveUnitNumber,
    UnitNumber,
)
from utils.config.problems import Problem
from utils.config.schedule_spec import UnitScheduleField
from utils.config.schema import NetworkKwargs
from utils.config.validate import EffectRule
from utils.schedules import ScheduleSpec


class QNetworkKwargs(NetworkKwargs):
    """The shape of a network that values every action."""

    hidden_dims: tuple[PositiveInteger, ...] = Field(
        default=(256, 256), description="Units of each hidden layer, >= 1; [] for none."
    )
    activation: Literal["tanh", "relu", "elu", "silu", "gelu"] = Field(
        default="relu", description="Nonlinearity after each hidden layer."
    )
    orthogonal_init: Flag = Field(
        default=False, description="Orthogonal weights and zero biases at start, not torch's own."
    )


class DQNConfig(OffPolicyConfig):
    """Deep Q-learning (Mnih et al., 2015); with all its options Rainbow (Hessel et al., 2018)."""

    algo_id: Literal["dqn"] = Field(description="The algorithm.")
    policy_kwargs: QNetworkKwargs = Field(
        default=QNetworkKwargs(), description="Shape of the Q-network."
    )
    epsilon: UnitScheduleField = Field(
        default=ScheduleSpec(start=1.0, end=0.05, from_=0.0, to=0.1),
        description="Probability of a random action while collecting, 0 to 1.",
    )
    eval_epsilon: UnitNumber = Field(
        default=0.0,
        description="Probability of a random action in evaluations with eval_deterministic: false.",
    )
    target_update_timesteps: PositiveInteger | None = Field(
        default=10_000,
        description=(
            "Timesteps from one update of the target network to the next, >= 1 (not updates: their "
            "number follows from replay_ratio and is told at the start); null: after every update."
        ),
    )
    target_tau: PositiveUnitNumber = Field(
        default=1.0,
        description="Weight of the online network in an update of the target, in (0, 1].",
    )
    loss: Literal["huber", "mse"] = Field(
        default="huber",
        description="Of an error: squared below 1 and straight above (huber), or squared (mse).",
    )
    double: Flag = Field(
        default=True, description="The online network chooses the action that the target values."
    )
    dueling: Flag = Field(
        default=False, description="Value and advantages from a layer each, not values alone."
    )
    noisy: Flag = Field(
        default=False, description="Explore by noise in the weights of the last two layers."
    )
    noisy_std: PositiveNumber = Field(
        default=0.5, description="Scale of that noise at the start, over sqrt(inputs), > 0."
    )
    distribution: Literal["none", "c51"] = Field(
        default="none", description="c51: learn the distribution of the return, not its mean."
    )
    n_atoms: Annotated[Integer, Ge(2)] = Field(
        default=51, description="c51: returns that the distribution is made of, >= 2."
    )
    v_min: Number = Field(default=-10.0, description="c51: the smallest of these returns.")
    v_max: Number = Field(default=10.0, description="c51: the largest of these returns.")

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *OFF_POLICY_EFFECT_RULES,
        EffectRule(
            options=("noisy_std",),
            switches=("noisy",),
            is_off=lambda config: not config.noisy,
            reason="noisy is false",
        ),
        EffectRule(
            options=("n_atoms", "v_min", "v_max"),
            switches=("distribution",),
            is_off=lambda config: config.distribution == "none",
            reason="distribution is none",
        ),
        EffectRule(
            options=("loss",),
            switches=("distribution",),
            is_off=lambda config: config.distribution == "c51",
            reason="distribution: c51 learns by cross entropy",
        ),
        EffectRule(
            options=("eval_epsilon",),
            switches=("eval_deterministic",),
            is_off=lambda config: config.eval_deterministic,
            reason="eval_deterministic is true, which takes the best action always",
        ),
    )

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in target network, atoms and buffer."""
        problems = super().find_inconsistencies()
        if self.v_min >= self.v_max:
            message = f"v_min {self.v_min:g} must be below v_max {self.v_max:g}"
            problems.append(Problem(("v_min", "v_max"), message))
        period, round_timesteps = self.target_update_timesteps, self.round_timesteps
        if period is not None and period < round_timesteps:
            message = (
                f"target_update_timesteps {period} is less than the {round_timesteps} timesteps of "
                f"train_every_vec_steps {self.train_every_vec_steps} with n_envs {self.n_envs}, "
                "between which nothing is learnt: make it that, or null for every update"
            )
            keys = ("target_update_timesteps", "train_every_vec_steps", "n_envs")
            problems.append(Problem(keys, message))
        if self.target_update_timesteps is None and self.target_tau == 1.0:
            message = (
                "target_update_timesteps: null with target_tau 1 copies the network after every "
                "update, so that there is no target network: lower target_tau (0.005)"
            )
            problems.append(Problem(("target_tau", "target_update_timesteps"), message))
        return problems
