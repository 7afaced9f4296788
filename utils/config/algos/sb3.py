"""The settings of a policy that was trained with Stable-Baselines3."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from utils.config.fields import (
    Flag,
    NonNegativeInteger,
    Number,
    PositiveInteger,
    PositiveNumber,
    Text,
    UnitNumber,
)
from utils.config.schedule_spec import ScheduleField
from utils.config.schema import Config
from utils.config.spec import STRICT_MODEL
from utils.config.validate import COMMON_EFFECT_RULES, EffectRule


class SB3Kwargs(BaseModel):
    """The shape of the networks, as the file of Stable-Baselines3 has them."""

    model_config = STRICT_MODEL

    algorithm: Literal["PPO", "A2C", "DQN", "SAC", "TD3", "DDPG"] = Field(
        description="What trained it."
    )
    encoder: Literal["flatten", "cnn", "combined"] = Field(
        default="flatten",
        description="What reads observations: FlattenExtractor, NatureCNN or CombinedExtractor.",
    )
    feature_dim: PositiveInteger = Field(
        default=512, description="Outputs of a NatureCNN, >= 1; of flatten: not used."
    )
    actor_dims: tuple[PositiveInteger, ...] = Field(
        default=(), description="Units of each hidden layer of the actor, or of the Q network."
    )
    critic_dims: tuple[PositiveInteger, ...] = Field(
        default=(), description="Units of each hidden layer of the critics."
    )
    n_critics: NonNegativeInteger = Field(default=0, description="Critics that value an action.")
    activation: Text = Field(default="Tanh", description="Class name of a nonlinearity of torch.")
    normalize_images: Flag = Field(default=True, description="Divide the bytes of pictures by 255.")
    float_pictures: Flag = Field(
        default=False, description="Read any array of three dimensions as a picture."
    )
    state_dependent_noise: Flag = Field(default=False, description="Explores by gSDE.")
    full_std: Flag = Field(default=True, description="gSDE: one deviation per feature and action.")
    clip_mean: Number = Field(
        default=2.0, description="gSDE of SAC: bound of the mean before the tangent; 0: none."
    )
    squash_output: Flag = Field(
        default=False, description="PPO and A2C: actions are tangents, scaled to the bounds."
    )
    exploration_rate: UnitNumber = Field(
        default=0.0, description="DQN: share of random actions where actions are sampled."
    )
    vec_normalize: Flag = Field(
        default=False, description="Whether a VecNormalize stood before the policy."
    )
    vec_epsilon: PositiveNumber = Field(
        default=1e-8, description="VecNormalize: what is added to variances, > 0."
    )
    vec_clip: PositiveNumber = Field(
        default=10.0, description="VecNormalize: bound of a normalised observation, > 0."
    )


class SB3Config(Config):
    """A policy of Stable-Baselines3, to play, inspect, evaluate and publish; it learns no more."""

    algo_id: Literal["sb3"] = Field(description="The algorithm.")
    policy_kwargs: SB3Kwargs = Field(  # type: ignore[assignment]
        description="Shape of the networks."
    )
    policy_lr: ScheduleField = Field(default=0.0, description="Not used: nothing is learnt.")
    trained_with: Text = Field(
        default="Stable-Baselines3", description="The library and its version."
    )
    gamma: UnitNumber = Field(default=0.99, description="Discount of its training, 0 to 1.")
    gae_lambda: UnitNumber = Field(
        default=1.0, description="Trace decay of its training, 0 to 1; 1 where it had none."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *COMMON_EFFECT_RULES,
        EffectRule(
            options=(
                "policy_lr",
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
            reason="a policy of Stable-Baselines3 is played as it was trained there",
        ),
    )
