"""The settings of Diffusion Policy."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from utils.config.algos.imitation import IMITATION_EFFECT_RULES, ImitationConfig
from utils.config.fields import (
    Flag,
    PositiveInteger,
    PositiveNumber,
    PositiveUnitNumber,
    ProperShare,
    UnitNumber,
)
from utils.config.problems import Problem
from utils.config.schedule_spec import ScheduleField
from utils.config.spec import STRICT_MODEL
from utils.config.validate import EffectRule


class DiffusionKwargs(BaseModel):
    """The shape of the network that takes noise away."""

    model_config = STRICT_MODEL

    network: Literal["unet", "transformer"] = Field(
        default="unet",
        description="unet: convolutions over time; transformer: attention over time.",
    )
    channels: tuple[PositiveInteger, ...] = Field(
        default=(256, 512, 1024), description="Of the U-Net's levels, each half as long, >= 1."
    )
    kernel_size: PositiveInteger = Field(
        default=5, description="Of the U-Net's convolutions, odd, >= 1."
    )
    n_groups: PositiveInteger = Field(
        default=8, description="Groups of the U-Net's norms, which divide its channels, >= 1."
    )
    step_dim: PositiveInteger = Field(
        default=256, description="Width of the U-Net's code of the noise's step, even, >= 4."
    )
    width: PositiveInteger = Field(
        default=256, description="Of the transformer's tokens, even, >= 4."
    )
    n_layers: PositiveInteger = Field(default=8, description="Of the transformer, >= 1.")
    n_heads: PositiveInteger = Field(
        default=4, description="Of the transformer's attentions; divides its width, >= 1."
    )
    dropout: ProperShare = Field(
        default=0.01, description="Share that the transformer leaves out in learning, in [0, 1)."
    )
    causal: Flag = Field(
        default=True,
        description=(
            "Let an action of the transformer see those before it only; false: all of them, which "
            "agree sooner on one of several ways."
        ),
    )
    picture_width: PositiveInteger = Field(
        default=64, description="Channels of the first convolutions that read pictures, >= 1."
    )
    n_keypoints: PositiveInteger = Field(
        default=32, description="Places that are found in a picture, >= 1."
    )
    crop_fraction: PositiveUnitNumber = Field(
        default=0.9,
        description=(
            "Share of a picture's height and width that is looked at, anywhere in learning and in "
            "the middle in acting, in (0, 1]."
        ),
    )


def _is(network: str) -> EffectRule:
    options = {
        "unet": ("channels", "kernel_size", "n_groups", "step_dim"),
        "transformer": ("width", "n_layers", "n_heads", "dropout", "causal"),
    }[network]
    other = {"unet": "transformer", "transformer": "unet"}[network]
    return EffectRule(
        options=tuple(f"policy_kwargs.{name}" for name in options),
        switches=("policy_kwargs.network",),
        is_off=lambda config: config.policy_kwargs.network != network,
        reason=f"policy_kwargs.network is {other}",
    )


class DiffusionConfig(ImitationConfig):
    """Diffusion Policy (Chi et al., 2023): sequences of actions out of noise."""

    algo_id: Literal["diffusion"] = Field(description="The algorithm.")
    policy_lr: ScheduleField = Field(default=1e-4, description="Learning rate, >= 0.")
    policy_kwargs: DiffusionKwargs = Field(  # type: ignore[assignment]
        default=DiffusionKwargs(), description="Shape of the network."
    )
    obs_horizon: PositiveInteger = Field(
        default=2, description="Observations that are seen, the present one included, >= 1."
    )
    horizon: PositiveInteger = Field(
        default=16,
        description="Actions of a sequence, from that of the oldest observation on, >= 1.",
    )
    action_horizon: PositiveInteger = Field(
        default=8, description="Actions carried out before a new sequence is drawn, >= 1."
    )
    scheduler: Literal["ddpm", "ddim"] = Field(
        default="ddpm",
        description="ddpm: noise at every step back; ddim: none, so fewer steps do.",
    )
    beta_schedule: Literal["squaredcos_cap_v2", "linear", "scaled_linear"] = Field(
        default="squaredcos_cap_v2", description="How noise grows over the steps."
    )
    prediction: Literal["epsilon", "sample", "v_prediction"] = Field(
        default="epsilon",
        description="What the network says: the noise, the actions, or their rotation.",
    )
    n_train_steps: PositiveInteger = Field(
        default=100, description="Steps from actions to noise, >= 1."
    )
    n_denoise_steps: PositiveInteger = Field(
        default=100, description="Steps from noise to actions in acting, 1 to n_train_steps."
    )
    ema_power: PositiveNumber = Field(
        default=0.75,
        description=(
            "The acting weights keep 1 - (1 + n)^-ema_power of themselves in update n, > 0."
        ),
    )
    ema_most: UnitNumber = Field(
        default=0.9999, description="The most that they keep, 0 to 1; 0: they are the learnt ones."
    )
    eval_deterministic: Flag = Field(
        default=False,
        description="Evaluate with the same noise for every sequence; false: with drawn noise.",
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *IMITATION_EFFECT_RULES,
        _is("unet"),
        _is("transformer"),
        EffectRule(
            options=("ema_power",),
            switches=("ema_most",),
            is_off=lambda config: config.ema_most == 0,
            reason="ema_most is 0",
        ),
    )

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in horizons, steps and network."""
        kwargs = self.policy_kwargs
        problems = [
            (
                self.obs_horizon - 1 + self.action_horizon > self.horizon,
                ("horizon", "obs_horizon", "action_horizon"),
                f"horizon {self.horizon} is too short: obs_horizon {self.obs_horizon} and "
                f"action_horizon {self.action_horizon} need "
                f"{self.obs_horizon - 1 + self.action_horizon} actions",
            ),
            (
                self.n_denoise_steps > self.n_train_steps,
                ("n_denoise_steps", "n_train_steps"),
                f"n_denoise_steps {self.n_denoise_steps} exceeds n_train_steps "
                f"{self.n_train_steps}",
            ),
        ]
        problems += _unet_problems(kwargs, self.horizon)
        problems += _transformer_problems(kwargs)
        return [Problem(keys, message) for is_wrong, keys, message in problems if is_wrong]


_Check = tuple[bool, tuple[str, ...], str]


def _unet_problems(kwargs: DiffusionKwargs, horizon: int) -> list[_Check]:
    if kwargs.network != "unet":
        return []
    divisor = 2 ** max(0, len(kwargs.channels) - 1)
    return [
        (
            not kwargs.channels,
            ("policy_kwargs.channels",),
            "policy_kwargs.channels is empty: the U-Net needs one level at least",
        ),
        (
            horizon % divisor != 0,
            ("horizon", "policy_kwargs.channels"),
            f"horizon {horizon} cannot be halved {len(kwargs.channels) - 1} times, as the U-Net's "
            f"{len(kwargs.channels)} levels do: choose a multiple of {divisor}",
        ),
        (
            any(width % kwargs.n_groups for width in kwargs.channels),
            ("policy_kwargs.n_groups", "policy_kwargs.channels"),
            f"policy_kwargs.n_groups {kwargs.n_groups} does not divide all of the channels "
            f"{list(kwargs.channels)}",
        ),
        (
            kwargs.kernel_size % 2 == 0,
            ("policy_kwargs.kernel_size",),
            f"policy_kwargs.kernel_size {kwargs.kernel_size} is not odd",
        ),
        _code_problem("step_dim", kwargs.step_dim),
    ]


def _transformer_problems(kwargs: DiffusionKwargs) -> list[_Check]:
    if kwargs.network != "transformer":
        return []
    return [
        (
            kwargs.width % kwargs.n_heads != 0,
            ("policy_kwargs.n_heads", "policy_kwargs.width"),
            f"policy_kwargs.n_heads {kwargs.n_heads} does not divide the width {kwargs.width}",
        ),
        _code_problem("width", kwargs.width),
    ]


def _code_problem(name: str, width: int) -> _Check:
    key = f"policy_kwargs.{name}"
    return width % 2 != 0 or width < 4, (key,), f"{key} {width} is not even and >= 4"
