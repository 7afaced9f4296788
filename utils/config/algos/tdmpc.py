"""The settings of TD-MPC2, and of TD-MPC."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

from annotated_types import Ge
from pydantic import Field, ModelWrapValidatorHandler, model_validator
from typing_extensions import override

from utils.config.algos.effect_rules import (
    HAS_NO_PRIORITIES,
    knows_no_masks,
    reads_raw_observations,
)
from utils.config.algos.replay import REPLAY_EFFECT_RULES
from utils.config.algos.sequence import SequenceConfig
from utils.config.algos.sized import SizedKwargs, implied_settings, of_version, with_shape
from utils.config.fields import (
    Flag,
    Integer,
    NonNegativeInteger,
    NonNegativeNumber,
    PositiveInteger,
    PositiveNumber,
    PositiveUnitNumber,
    ProperShare,
    Text,
)
from utils.config.problems import Problem
from utils.config.schedule_spec import (
    OptionalPositiveScheduleField,
    ScheduleField,
    UnitScheduleField,
)
from utils.config.validate import EffectRule
from utils.phases import COLLECT, PhaseSpec
from utils.schedules import Schedulable, ScheduleSpec

TDMPC_SIZES: dict[str, dict[str, int]] = {
    name: dict(
        zip(
            ("encoder_dim", "mlp_dim", "latent_dim", "encoder_layers", "n_critics"),
            numbers,
            strict=True,
        )
    )
    for name, numbers in {
        "tiny": (64, 128, 64, 2, 2),
        "1M": (256, 384, 128, 2, 2),
        "5M": (256, 512, 512, 2, 5),
        "19M": (1024, 1024, 768, 3, 5),
        "48M": (1792, 1792, 768, 4, 5),
        "317M": (4096, 4096, 1376, 5, 8),
    }.items()
}
"""Hansen et al. 2024, "TD-MPC2: Scalable, robust world models for continuous control", table 9;
tiny is this project's own, for a processor core."""

VERSIONS: dict[int, dict[str, Any]] = {
    2: {},
    1: {
        "horizon": 5,
        "batch_size": 512,
        "policy_lr": 1e-3,
        "encoder_lr_scale": 1.0,
        "max_grad_norm": 10.0,
        "gamma": 0.99,
        "learning_starts_timesteps": 5000,
        "consistency_scale": 2.0,
        "reward_loss_scale": 0.5,
        "value_loss_scale": 0.2,
        "slow_every_updates": 2,
        "slow_encoder": True,
        "prior": "noisy",
        "critics_are": "least",
        "normalize_values": False,
        "ent_coef": 0.0,
        "n_proposals": 25,
        "plan_min_std": 0.05,
        "plan_momentum": 0.1,
        "prioritized_replay": True,
        "policy_kwargs": {
            "encoder_dim": 256,
            "encoder_layers": 2,
            "mlp_dim": 512,
            "latent_dim": 50,
            "n_critics": 2,
            "simplex_dim": 0,
            "norm": "none",
            "activation": "elu",
            "numbers": "plain",
            "begins": "orthogonal",
            "dropout": 0.0,
        },
    },
}
"""What the first version sets where a config does not: Hansen et al. 2022, "Temporal difference
learning for model predictive control". Its critics' losses are summed, so their scale is double."""


class TDMPCKwargs(SizedKwargs):
    """The shape of the model."""

    SIZES = TDMPC_SIZES
    OF_PICTURES = ("channels", "picture_shift")
    OF_NUMBERS = ("encoder_dim", "encoder_layers")

    size: Literal["tiny", "1M", "5M", "19M", "48M", "317M"] = Field(
        default="5M",
        description=(
            "Sets encoder_dim, mlp_dim, latent_dim, encoder_layers and n_critics, where they are "
            "not set."
        ),
    )
    encoder_dim: PositiveInteger = Field(
        default=256, description="Units of the layers that read numbers, >= 1."
    )
    encoder_layers: Annotated[Integer, Ge(2)] = Field(
        default=2, description="Layers that read numbers, the one to the latent included, >= 2."
    )
    channels: PositiveInteger = Field(
        default=32, description="Channels of the convolutions that read pictures, >= 1."
    )
    picture_shift: NonNegativeInteger = Field(
        default=3, description="Pixels by which pictures are shifted at most as they are learnt."
    )
    mlp_dim: PositiveInteger = Field(
        default=512, description="Units of dynamics, reward, prior and critics, >= 1."
    )
    latent_dim: PositiveInteger = Field(default=512, description="Width of the latent, >= 1.")
    n_critics: Annotated[Integer, Ge(2)] = Field(default=5, description="Critics, >= 2.")
    simplex_dim: NonNegativeInteger = Field(
        default=8,
        description="Numbers of each simplex of the latent, a divisor of latent_dim; 0: none.",
    )
    norm: Literal["layer", "none"] = Field(
        default="layer", description="Norm of every hidden layer."
    )
    activation: Literal["mish", "elu"] = Field(
        default="mish", description="Nonlinearity after each layer."
    )
    numbers: Literal["two_hot", "plain"] = Field(
        default="two_hot",
        description="Rewards and values as distributions over bins, or by squared errors.",
    )
    begins: Literal["normal", "orthogonal"] = Field(
        default="normal", description="First weights: normal of deviation 0.02, or orthogonal."
    )
    dropout: ProperShare = Field(
        default=0.01, description="Share of the critics' first layer that is dropped, 0 to 1."
    )


class TDMPCConfig(SequenceConfig):
    """TD-MPC: plans in a learnt latent space, with learnt values at the horizon."""

    algo_id: Literal["tdmpc"] = Field(description="The algorithm.")
    version: Literal[1, 2] = Field(
        default=2,
        description="Whose settings hold where none are given: TD-MPC2 (2024) or TD-MPC (2022).",
    )
    policy_kwargs: TDMPCKwargs = Field(  # type: ignore[assignment]
        default=TDMPCKwargs(), description="Shape of the model."
    )
    optimizer: Text = Field(
        default="Adam", description="Class name of an optimiser in torch.optim."
    )
    policy_lr: ScheduleField = Field(default=3e-4, description="Learning rate, >= 0.")
    encoder_lr_scale: PositiveNumber = Field(
        default=0.3, description="The encoder's learning rate as a multiple of policy_lr, > 0."
    )
    lr_warmup_updates: NonNegativeInteger = Field(
        default=0, description="Updates over which learning rates rise from 0, >= 0."
    )
    max_grad_norm: OptionalPositiveScheduleField = Field(
        default=20.0,
        description="Bound of the norms of the gradients of model and prior, > 0; null: no bound.",
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="float32",
        description=(
            "Of the arithmetic; auto: bfloat16 on a GPU, where products in float32 round their "
            "factors to 10 bits."
        ),
    )
    gamma: PositiveUnitNumber | None = Field(  # type: ignore[assignment]
        default=None,
        description=(
            "Discount of one step, 0 to 1; null: from the time limit, (n - 1) / n with n a fifth "
            "of its steps, but 0.95 to 0.995."
        ),
    )
    episodic: Flag = Field(
        default=False,
        description=(
            "Episodes may terminate, and the model learns when. false: an environment that does so "
            "is refused."
        ),
    )
    batch_size: PositiveInteger = Field(default=256, description="Sequences of one update, >= 1.")
    replay_ratio: PositiveNumber = Field(
        default=1.0, description="Updates for each timestep, > 0, exactly."
    )
    learning_starts_timesteps: NonNegativeInteger = Field(
        default=1000,
        description="Timesteps of random actions at the start; published: five episodes.",
    )
    pretrain_updates: NonNegativeInteger | None = Field(
        default=None,
        description=(
            "Updates at once after the random actions, >= 0; null: as many as they would have paid "
            "for."
        ),
    )
    horizon: PositiveInteger = Field(
        default=3, description="Steps of a plan, and of the sequences that are learnt from, >= 1."
    )
    step_decay: PositiveUnitNumber = Field(
        default=0.5, description="Weight of each step of a sequence by that before, in (0, 1]."
    )
    consistency_scale: PositiveNumber = Field(
        default=20.0, description="Weight of predicting the next latent state, > 0."
    )
    reward_loss_scale: PositiveNumber = Field(
        default=0.1, description="Weight of the loss of predicted rewards, > 0."
    )
    value_loss_scale: PositiveNumber = Field(
        default=0.1, description="Weight of the loss of the critics, their mean, > 0."
    )
    end_loss_scale: PositiveNumber = Field(
        default=1.0, description="Weight of the loss of predicted ends, > 0."
    )
    ent_coef: NonNegativeNumber = Field(
        default=1e-4, description="Worth of the prior's entropy, >= 0."
    )
    normalize_values: Flag = Field(
        default=True,
        description="Divide what the prior climbs by the spread of values, at least 1.",
    )
    slow_rate: PositiveUnitNumber = Field(
        default=0.01, description="How far the slow critics follow each time, in (0, 1]."
    )
    slow_every_updates: PositiveInteger = Field(
        default=1, description="Updates from one time to the next, >= 1."
    )
    slow_encoder: Flag = Field(
        default=False,
        description="What is to be predicted comes from a slowly following encoder.",
    )
    critics_are: Literal["mean", "least"] = Field(
        default="mean",
        description="What plans and the prior make of the critics: their mean, or the least.",
    )
    prior: Literal["squashed_normal", "noisy"] = Field(
        default="squashed_normal",
        description="Policy prior: deviations are learnt, or plan_min_std at all times.",
    )
    n_iterations: PositiveInteger | None = Field(
        default=None,
        description="Times that candidates are drawn, >= 1; null: 6, or 8 from 20 actions on.",
    )
    n_candidates: PositiveInteger = Field(
        default=512, description="Sequences of actions that are tried each time, >= 2."
    )
    n_proposals: NonNegativeInteger = Field(
        default=24, description="How many of them the policy prior proposes, >= 0."
    )
    n_elites: PositiveInteger = Field(
        default=64, description="The best of them, which make the next distribution, >= 1."
    )
    plan_temperature: PositiveNumber = Field(
        default=0.5, description="What values are multiplied by before the softmax, > 0."
    )
    plan_min_std: ScheduleField = Field(
        default=0.05, description="Least deviation of a plan, and of the noise of a noisy prior."
    )
    plan_max_std: PositiveNumber = Field(
        default=2.0, description="Deviation of a plan at first, and at most, > 0."
    )
    plan_momentum: ProperShare = Field(
        default=0.0, description="Share of the last mean in the next, 0 to 1."
    )
    prioritized_replay: Flag = Field(
        default=False, description="Draw sequences by the size of their last error of the values."
    )
    priority_exponent: PositiveUnitNumber = Field(
        default=0.6, description="Power of the error in the probability of a draw, in (0, 1]."
    )
    importance_exponent: UnitScheduleField = Field(
        default=ScheduleSpec(start=0.4, end=0.4),
        description="Power of the weights that undo the bias of the draws; 1 undoes all of it.",
    )

    CROSSES_EPISODES: ClassVar[bool] = False
    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *REPLAY_EFFECT_RULES,
        reads_raw_observations("the encoder's norms bring numbers down to size"),
        knows_no_masks("plans are made of numbers, and there is no mask for those"),
        HAS_NO_PRIORITIES,
        EffectRule(
            options=("end_loss_scale",),
            switches=("episodic",),
            is_off=lambda config: not config.episodic,
            reason="episodic is false",
        ),
        EffectRule(
            options=("pretrain_updates",),
            switches=("phases",),
            is_off=lambda config: bool(config.phases),
            reason="phases says what is done when",
        ),
    )

    @model_validator(mode="wrap")
    @classmethod
    def _spell_out_version(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Write out what a version sets where the config does not."""
        if not isinstance(data, Mapping):
            return handler(data)
        defaults = of_version(VERSIONS, data.get("version", 2))
        return with_shape(handler, data, defaults=defaults, kind=TDMPCKwargs)

    @override
    def implied_settings(self) -> dict[str, Any]:
        return implied_settings(self.policy_kwargs, of_version(VERSIONS, self.version))

    @property
    def hyperparameters(self) -> dict[str, Schedulable]:
        """The settings that may follow a schedule and are read, by name."""
        values = super().hyperparameters
        if not self.prioritized_replay:
            del values["importance_exponent"]
        return values

    @property
    def rows_of_sequence(self) -> int:
        """Rows of a sequence: one more than steps."""
        return self.horizon + 1

    @property
    def priority_power(self) -> float | None:
        """Power of the last error in the probability of a draw; None: all are equally likely."""
        return self.priority_exponent if self.prioritized_replay else None

    @property
    def exact_replay_ratio(self) -> Fraction:
        """Updates for each timestep."""
        return Fraction(self.replay_ratio).limit_denominator(1_000_000)

    @property
    def timesteps_before_updates(self) -> int:
        """Timesteps that must be stored before the first update: one sequence in each ring."""
        return max(self.learning_starts_timesteps, (self.rows_of_sequence + 1) * self.n_envs)

    @property
    def n_pretrain_updates(self) -> int:
        """Updates at once after the random actions."""
        if self.pretrain_updates is None:
            return int(self.learning_starts_timesteps * self.exact_replay_ratio)
        return self.pretrain_updates

    @property
    def phase_specs(self) -> list[PhaseSpec]:
        """What is done in which order; without `phases` random actions, updates, then both."""
        n_random, n_updates = self.timesteps_before_updates, self.n_pretrain_updates
        if self.phases or n_updates == 0 or n_random >= self.max_timesteps:
            return super().phase_specs
        hooks = self.UPDATE_HOOKS
        return [
            PhaseSpec(name="look around", type="online", hooks=(COLLECT,), duration=n_random),
            PhaseSpec(
                name="pretrain", type="offline", hooks=hooks, duration=n_updates, unit="updates"
            ),
            PhaseSpec(name="learn", type="online", hooks=(COLLECT, *hooks)),
        ]

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in model, plans and phases."""
        problems = super().find_inconsistencies()
        kwargs = self.policy_kwargs
        if kwargs.simplex_dim and kwargs.latent_dim % kwargs.simplex_dim:
            message = (
                f"policy_kwargs.latent_dim {kwargs.latent_dim} must be a multiple of "
                f"policy_kwargs.simplex_dim {kwargs.simplex_dim}"
            )
            keys = ("policy_kwargs.latent_dim", "policy_kwargs.simplex_dim")
            problems.append(Problem(keys, message))
        if self.n_elites > self.n_candidates:
            message = f"n_elites {self.n_elites} exceeds n_candidates {self.n_candidates}"
            problems.append(Problem(("n_elites", "n_candidates"), message))
        if self.n_proposals >= self.n_candidates:
            message = (
                f"n_proposals {self.n_proposals} leaves none of n_candidates {self.n_candidates} "
                "to be drawn"
            )
            problems.append(Problem(("n_proposals", "n_candidates"), message))
        return problems
