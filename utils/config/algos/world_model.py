"""The settings of agents that learn a model of the world from sequences."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le
from pydantic import Field

from utils.config.algos.effect_rules import (
    DREAMS_WITHOUT_MASKS,
    FILMS_NO_DREAMS,
    reads_raw_observations,
)
from utils.config.algos.replay import REPLAY_EFFECT_RULES
from utils.config.algos.sequence import SequenceConfig
from utils.config.algos.sized import SizedKwargs
from utils.config.fields import (
    Flag,
    Integer,
    NonNegativeInteger,
    NonNegativeNumber,
    PositiveInteger,
    PositiveNumber,
    ProperShare,
)
from utils.config.problems import Problem
from utils.config.validate import EffectRule

SIZES: dict[str, dict[str, int]] = {
    name: dict(zip(("deter", "hidden", "classes", "depth", "units"), numbers, strict=True))
    for name, numbers in {
        "tiny": (128, 64, 8, 2, 64),
        "1M": (512, 64, 4, 4, 64),
        "12M": (2048, 256, 16, 16, 256),
        "25M": (3072, 384, 24, 24, 384),
        "50M": (4096, 512, 32, 32, 512),
        "100M": (6144, 768, 48, 48, 768),
        "200M": (8192, 1024, 64, 64, 1024),
        "400M": (12288, 1536, 96, 96, 1536),
    }.items()
}
"""Hafner et al. 2025, "Mastering diverse control tasks through world models", table of sizes; tiny
is this project's own, for a processor core."""


class WorldModelKwargs(SizedKwargs):
    """The shape of a world model and of what reads it."""

    SIZES = SIZES
    OF_PICTURES = ("depth", "pictures")
    OF_NUMBERS = ("encoder_layers", "decoder_layers")

    size: Literal["tiny", "1M", "12M", "25M", "50M", "100M", "200M", "400M"] = Field(
        default="12M",
        description="Sets deter, hidden, classes, depth and units, where they are not set.",
    )
    deter: PositiveInteger = Field(
        default=2048, description="Width of the deterministic state, >= 1."
    )
    hidden: PositiveInteger = Field(
        default=256, description="Units of dynamics, prior and posterior, >= 1."
    )
    latent: Literal["categorical", "gaussian"] = Field(
        default="categorical", description="What the stochastic state is drawn from."
    )
    choices: PositiveInteger = Field(
        default=32,
        description="Choices of a categorical latent, or numbers of a gaussian one, >= 1.",
    )
    classes: Annotated[Integer, Ge(2), Le(256)] = Field(
        default=16, description="Classes of each choice, 2 to 256."
    )
    uniform_share: ProperShare = Field(
        default=0.01, description="Share of every choice's probability that is uniform, 0 to 1."
    )
    min_std: PositiveNumber = Field(
        default=0.1, description="Least deviation of a gaussian latent, > 0."
    )
    dynamics: Literal["block_gru", "gru"] = Field(
        default="block_gru", description="The recurrent network."
    )
    blocks: PositiveInteger = Field(
        default=8, description="Blocks of the weights of block_gru, >= 1; must divide deter."
    )
    dynamics_layers: PositiveInteger = Field(
        default=1, description="Layers before the gates of block_gru, >= 1."
    )
    prior_layers: PositiveInteger = Field(default=2, description="Layers of the prior, >= 1.")
    posterior_layers: PositiveInteger = Field(
        default=1, description="Layers of the posterior, >= 1."
    )
    units: PositiveInteger = Field(
        default=256, description="Units of encoders, decoders and heads, >= 1."
    )
    depth: PositiveInteger = Field(
        default=16, description="What the channels of convolutions are multiples of, >= 1."
    )
    pictures: Literal["pooled", "strided"] = Field(
        default="pooled",
        description="Convolutions with maxima between them, or strided ones (64 x 64 only).",
    )
    encoder_layers: NonNegativeInteger = Field(
        default=3, description="Layers that read numbers, >= 0."
    )
    decoder_layers: NonNegativeInteger = Field(
        default=3, description="Layers that predict numbers, >= 0."
    )
    reward_layers: NonNegativeInteger = Field(
        default=1, description="Layers that predict rewards, >= 0."
    )
    continue_layers: NonNegativeInteger = Field(
        default=1, description="Layers that predict whether episodes go on, >= 0."
    )
    numbers: Literal["two_hot", "normal"] = Field(
        default="two_hot",
        description="Rewards and values as distributions over bins, or by squared errors.",
    )
    bins: Annotated[Integer, Ge(3), Le(1023)] = Field(
        default=255, description="Bins of two_hot numbers, odd, 3 to 1023."
    )
    norm: Literal["rms", "layer", "none"] = Field(
        default="rms", description="Norm of every layer's outputs."
    )
    activation: Literal["silu", "elu", "relu", "tanh", "gelu"] = Field(
        default="silu", description="Nonlinearity after each layer."
    )


class ActingWorldModelKwargs(WorldModelKwargs):
    """The shape of a world model, an actor and a critic."""

    actor_layers: NonNegativeInteger = Field(default=3, description="Layers of the actor, >= 0.")
    critic_layers: NonNegativeInteger = Field(default=3, description="Layers of the critic, >= 0.")


WORLD_MODEL_EFFECT_RULES = (
    *REPLAY_EFFECT_RULES,
    reads_raw_observations("the model reads numbers as their symmetric logarithm"),
    DREAMS_WITHOUT_MASKS,
    FILMS_NO_DREAMS,
    EffectRule(
        options=("policy_kwargs.classes", "policy_kwargs.uniform_share"),
        switches=("policy_kwargs.latent",),
        is_off=lambda config: config.policy_kwargs.latent != "categorical",
        reason="policy_kwargs.latent is gaussian",
    ),
    EffectRule(
        options=("policy_kwargs.bins",),
        switches=("policy_kwargs.numbers",),
        is_off=lambda config: config.policy_kwargs.numbers != "two_hot",
        reason="policy_kwargs.numbers is normal",
    ),
    EffectRule(
        options=("policy_kwargs.min_std",),
        switches=("policy_kwargs.latent",),
        is_off=lambda config: config.policy_kwargs.latent != "gaussian",
        reason="policy_kwargs.latent is categorical",
    ),
    EffectRule(
        options=("policy_kwargs.blocks", "policy_kwargs.dynamics_layers"),
        switches=("policy_kwargs.dynamics",),
        is_off=lambda config: config.policy_kwargs.dynamics != "block_gru",
        reason="policy_kwargs.dynamics is gru",
    ),
)


class WorldModelConfig(SequenceConfig):
    """What all agents share that learn a model of the world from replayed sequences."""

    policy_kwargs: WorldModelKwargs = Field(  # type: ignore[assignment]
        default=WorldModelKwargs(), description="Shape of the world model."
    )
    sequence_length: Annotated[Integer, Ge(2)] = Field(
        default=64, description="Steps of a sequence, >= 2."
    )
    train_ratio: PositiveNumber = Field(
        default=512.0,
        description=(
            "Replayed steps for each timestep, > 0; so updates for each timestep are train_ratio / "
            "(batch_size * sequence_length). Action repeat does not enter."
        ),
    )
    replay_context: Annotated[NonNegativeInteger, Le(1)] = Field(
        default=1,
        description=(
            "1: sequences go on from what the model remembered of the step before them, kept in "
            "the buffer and renewed by each update; 0: they begin with an empty memory."
        ),
    )
    newest_first: Flag = Field(
        default=True, description="Learn from every new sequence once before others are drawn."
    )
    dynamics_scale: NonNegativeNumber = Field(
        default=1.0, description="Weight of teaching the prior what was seen, >= 0."
    )
    representation_scale: NonNegativeNumber = Field(
        default=0.1, description="Weight of making what is seen easier to expect, >= 0."
    )
    free_nats: NonNegativeNumber = Field(
        default=1.0, description="Divergence of prior and posterior that costs nothing, in nats."
    )
    free_nats_of_mean: Flag = Field(
        default=False,
        description="free_nats bound the mean over all states, not each state on its own.",
    )
    reward_loss_scale: PositiveNumber = Field(
        default=1.0, description="Weight of the loss of predicted rewards, > 0."
    )
    agc: PositiveNumber | None = Field(
        default=0.3,
        description=(
            "Bound of each gradient's norm by the norm of its parameter, > 0; null: none. LaProp "
            "only."
        ),
    )
    dream_video: Flag = Field(
        default=True, description="Film dreams beside what happened whenever a policy is filmed."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = WORLD_MODEL_EFFECT_RULES
    OPTIMIZERS: ClassVar[tuple[str, ...]] = ("LaProp",)
    UPDATE_HOOKS: ClassVar[tuple[str, ...]] = ("update_world_model",)

    @property
    def rows_of_sequence(self) -> int:
        """Rows that are drawn for a sequence, the one that it goes on from included."""
        return self.sequence_length + self.replay_context

    @property
    def rows_of_context(self) -> int:
        """Rows at the beginning of a sequence that only lead in."""
        return self.replay_context

    @property
    def serves_newest_first(self) -> bool:
        """Whether every new sequence is learnt from once before others are drawn."""
        return self.newest_first

    @property
    def exact_replay_ratio(self) -> Fraction:
        """Updates for each timestep."""
        replayed = self.batch_size * self.sequence_length
        return Fraction(self.train_ratio).limit_denominator(1_000_000) / replayed

    @property
    def timesteps_before_updates(self) -> int:
        """Timesteps that must be stored before the first update: those of one batch."""
        one_batch = self.batch_size * self.sequence_length
        one_each = (self.rows_of_sequence + 1) * self.n_envs
        return max(self.learning_starts_timesteps, one_batch, one_each)

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in buffer, model and phases."""
        problems = super().find_inconsistencies()
        kwargs = self.policy_kwargs
        if kwargs.numbers == "two_hot" and kwargs.bins % 2 == 0:
            message = f"policy_kwargs.bins {kwargs.bins} must be odd: one of them is for 0"
            problems.append(Problem(("policy_kwargs.bins",), message))
        if kwargs.dynamics == "block_gru" and kwargs.deter % kwargs.blocks:
            message = (
                f"policy_kwargs.deter {kwargs.deter} must be a multiple of policy_kwargs.blocks "
                f"{kwargs.blocks}"
            )
            problems.append(Problem(("policy_kwargs.deter", "policy_kwargs.blocks"), message))
        if self.optimizer != "LaProp" and self.agc is not None:
            message = f"'agc' has no effect: only LaProp clips adaptively, not {self.optimizer}"
            problems.append(Problem(("agc", "optimizer"), message))
        return problems
