"""The settings of the three Dreamers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, model_validator
from typing_extensions import override

from utils.config.algos.sized import implied_settings, of_version, with_shape
from utils.config.algos.world_model import (
    WORLD_MODEL_EFFECT_RULES,
    ActingWorldModelKwargs,
    WorldModelConfig,
)
from utils.config.fields import (
    Flag,
    NonNegativeInteger,
    NonNegativeNumber,
    PositiveInteger,
    PositiveNumber,
    PositiveUnitNumber,
    Text,
    UnitNumber,
)
from utils.config.schedule_spec import ScheduleField
from utils.config.validate import EffectRule

_OLD_HEADS = {"numbers": "normal", "dynamics": "gru", "pictures": "strided", "prior_layers": 1}

VERSIONS: dict[int, dict[str, Any]] = {
    3: {},
    2: {
        "optimizer": "AdamW",
        "optimizer_kwargs": {"eps": 1e-5, "weight_decay": 1e-6},
        "policy_lr": 1e-4,
        "agc": None,
        "max_grad_norm": 100.0,
        "lr_warmup_updates": 0,
        "sequence_length": 50,
        "buffer_steps": 2_000_000,
        "train_ratio": 160.0,
        "learning_starts_timesteps": 10_000,
        "replay_context": 0,
        "newest_first": False,
        "gamma": 0.99,
        "dynamics_scale": 0.8,
        "representation_scale": 0.2,
        "free_nats": 0.0,
        "free_nats_of_mean": True,
        "discounted_end": False,
        "ent_coef": 2e-3,
        "actor_gradient": "auto",
        "normalize_returns": False,
        "slow_critic": "target",
        "slow_critic_rate": 1.0,
        "slow_critic_every_updates": 100,
        "replay_value_scale": 0.0,
        "actor_lr": 8e-5,
        "critic_lr": 2e-4,
        "policy_kwargs": {
            **_OLD_HEADS,
            "deter": 1024,
            "hidden": 1024,
            "choices": 32,
            "classes": 32,
            "uniform_share": 0.0,
            "units": 400,
            "depth": 48,
            "encoder_layers": 4,
            "decoder_layers": 4,
            "reward_layers": 4,
            "continue_layers": 4,
            "actor_layers": 4,
            "critic_layers": 4,
            "norm": "none",
            "activation": "elu",
        },
    },
    1: {
        "optimizer": "Adam",
        "policy_lr": 6e-4,
        "agc": None,
        "max_grad_norm": 100.0,
        "lr_warmup_updates": 0,
        "batch_size": 50,
        "sequence_length": 50,
        "train_ratio": 250.0,
        "learning_starts_timesteps": 5000,
        "replay_context": 0,
        "newest_first": False,
        "gamma": 0.99,
        "dynamics_scale": 1.0,
        "representation_scale": 1.0,
        "free_nats": 3.0,
        "free_nats_of_mean": True,
        "predict_end": False,
        "discounted_end": False,
        "ent_coef": 0.0,
        "actor_gradient": "dynamics",
        "actor_distribution": "tanh_normal",
        "normalize_returns": False,
        "slow_critic": "none",
        "replay_value_scale": 0.0,
        "exploration_noise": 0.3,
        "actor_lr": 8e-5,
        "critic_lr": 8e-5,
        "policy_kwargs": {
            **_OLD_HEADS,
            "latent": "gaussian",
            "choices": 30,
            "deter": 200,
            "hidden": 200,
            "units": 400,
            "depth": 32,
            "encoder_layers": 3,
            "decoder_layers": 3,
            "reward_layers": 2,
            "continue_layers": 3,
            "actor_layers": 4,
            "critic_layers": 3,
            "norm": "none",
            "activation": "elu",
        },
    },
}
"""What the earlier versions set where a config does not: Hafner et al. 2021, "Mastering Atari with
discrete world models", and Hafner et al. 2020, "Dream to control"."""


class DreamerConfig(WorldModelConfig):
    """Dreamer: an actor and a critic that learn in the dreams of a world model."""

    algo_id: Literal["dreamer"] = Field(description="The algorithm.")
    version: Literal[1, 2, 3] = Field(
        default=3,
        description=(
            "Whose settings hold where none are given: DreamerV3 (2025), DreamerV2 (2021) or "
            "Dreamer (2020)."
        ),
    )
    policy_kwargs: ActingWorldModelKwargs = Field(
        default=ActingWorldModelKwargs(), description="Shape of world model, actor and critic."
    )
    optimizer: Text = Field(
        default="LaProp", description="LaProp, or the class name of an optimiser in torch.optim."
    )
    policy_lr: ScheduleField = Field(
        default=4e-5, description="Learning rate, of the world model and of what has none, >= 0."
    )
    actor_lr: PositiveNumber | None = Field(
        default=None, description="Learning rate of the actor, > 0; null: policy_lr."
    )
    critic_lr: PositiveNumber | None = Field(
        default=None, description="Learning rate of the critic, > 0; null: policy_lr."
    )
    gamma: UnitNumber = Field(
        default=1.0 - 1.0 / 333.0, description="Discount of one step, 0 to 1."
    )
    learning_starts_timesteps: NonNegativeInteger = Field(
        default=0, description="Timesteps of random actions at the start, >= 0."
    )
    imagination_horizon: PositiveInteger = Field(default=15, description="Steps of a dream, >= 1.")
    return_lambda: UnitNumber = Field(
        default=0.95, description="Decay of the mixture of n-step returns, 0 to 1."
    )
    ent_coef: NonNegativeNumber = Field(
        default=3e-4, description="Worth of a nat of the actor's entropy, >= 0."
    )
    actor_gradient: Literal["reinforce", "dynamics", "auto"] = Field(
        default="reinforce",
        description=(
            "How the actor learns: by the likelihood of good actions, or by the gradient of the "
            "return through the model (Box actions); auto: dynamics for a Box."
        ),
    )
    actor_distribution: Literal["bounded_normal", "tanh_normal"] = Field(
        default="bounded_normal", description="Of actions in a Box."
    )
    normalize_returns: Flag = Field(
        default=True, description="Divide advantages by the spread of returns, at least 1."
    )
    predict_end: Flag = Field(
        default=True, description="Learn whether episodes go on; false: dreams never end."
    )
    discounted_end: Flag = Field(
        default=True, description="Learn the discount as part of whether episodes go on."
    )
    slow_critic: Literal["regularizer", "target", "none"] = Field(
        default="regularizer",
        description=(
            "What a slowly following critic does: the critic is kept near it; or returns and "
            "baseline are its; or there is none."
        ),
    )
    slow_critic_rate: PositiveUnitNumber = Field(
        default=0.02, description="How far it follows each time, in (0, 1]; 1 copies."
    )
    slow_critic_every_updates: PositiveInteger = Field(
        default=1, description="Updates from one time to the next, >= 1."
    )
    replay_value_scale: NonNegativeNumber = Field(
        default=0.3, description="Weight of the critic's loss on what really happened, >= 0."
    )
    exploration_noise: NonNegativeNumber = Field(
        default=0.0, description="Deviation of normal noise on Box actions in [-1, 1] units, >= 0."
    )

    UPDATE_HOOKS: ClassVar[tuple[str, ...]] = ("update_world_model", "update_controller")
    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *WORLD_MODEL_EFFECT_RULES,
        EffectRule(
            options=("discounted_end", "policy_kwargs.continue_layers"),
            switches=("predict_end",),
            is_off=lambda config: not config.predict_end,
            reason="predict_end is false",
        ),
        EffectRule(
            options=("slow_critic_rate", "slow_critic_every_updates"),
            switches=("slow_critic",),
            is_off=lambda config: config.slow_critic == "none",
            reason="slow_critic is none",
        ),
    )

    @model_validator(mode="wrap")
    @classmethod
    def _spell_out_version(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Write out what a version sets where the config does not."""
        if not isinstance(data, Mapping):
            return handler(data)
        return with_shape(handler, data, defaults=_of_version(data), kind=ActingWorldModelKwargs)

    @override
    def implied_settings(self) -> dict[str, Any]:
        defaults = _of_version({"version": self.version, "optimizer": self.optimizer})
        return {"optimizer": "LaProp", **implied_settings(self.policy_kwargs, defaults)}


def _of_version(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the version sets, or the optimiser beside it, where settings do not."""
    defaults = of_version(VERSIONS, data.get("version", 3))
    if data.get("optimizer", defaults.get("optimizer", "LaProp")) != "LaProp":
        defaults.setdefault("agc", None)
    if "optimizer" in data and data["optimizer"] != defaults.get("optimizer"):
        defaults.pop("optimizer_kwargs", None)
    return defaults
