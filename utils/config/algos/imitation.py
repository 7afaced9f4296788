"""The settings that all algorithms share which learn from demonstrations."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from utils.config.algos.effect_rules import knows_no_masks
from utils.config.fields import (
    Flag,
    NonNegativeInteger,
    PositiveInteger,
    ProperShare,
    Text,
)
from utils.config.schedule_spec import OptionalPositiveScheduleField
from utils.config.schema import Config
from utils.config.validate import COMMON_EFFECT_RULES, EffectRule


def _always(_: Config) -> bool:
    return True


IMITATION_EFFECT_RULES = (
    *COMMON_EFFECT_RULES,
    EffectRule(
        options=("n_envs",),
        switches=(),
        is_off=_always,
        reason="nothing is collected: demonstrations are learnt from, and eval_n_envs judge",
    ),
    EffectRule(
        options=("normalize_obs", "clip_obs"),
        switches=(),
        is_off=_always,
        reason="numbers are scaled by the least and the greatest of the demonstrations",
    ),
    EffectRule(
        options=("normalize_reward", "clip_reward", "reward_scale"),
        switches=(),
        is_off=_always,
        reason="no reward is learnt from",
    ),
    EffectRule(
        options=("early_stop_on_train_reward",),
        switches=(),
        is_off=lambda config: config.early_stop_on_train_reward,
        reason="no episode is played in training; early_stop_on_eval_reward goes by evaluations",
    ),
    knows_no_masks("demonstrations hold no masks"),
    EffectRule(
        options=("download_dataset",),
        switches=("dataset",),
        is_off=lambda config: config.dataset == "scripted",
        reason="dataset is scripted",
    ),
)


class ImitationConfig(Config):
    """Settings of an agent that learns from demonstrations and steps no environment to learn.

    A *timestep* is here a step of the demonstrations that was drawn and learnt from: an update
    counts `batch_size` of them.
    """

    n_envs: PositiveInteger = Field(default=1, description="Not used: nothing is collected.")
    max_timesteps: PositiveInteger = Field(
        description=(
            "Steps of the demonstrations that are learnt from in the run, batch_size for each "
            "update, >= 1."
        ),
    )
    max_grad_norm: OptionalPositiveScheduleField = Field(
        default=1.0, description="Bound of the norm of the whole gradient, > 0; null: no bound."
    )
    dataset: Text = Field(
        description=(
            "Demonstrations: the name of a Minari dataset, or scripted, which the environment's "
            "own demonstrator plays on the spot."
        )
    )
    dataset_episodes: PositiveInteger | None = Field(
        default=None,
        description="Only the first so many episodes, >= 1; null: all, of a demonstrator 200.",
    )
    download_dataset: Flag = Field(
        default=False, description="Fetch the dataset from Minari's servers where it is not here."
    )
    val_fraction: ProperShare = Field(
        default=0.1, description="Share of the episodes that only judge, in [0, 1); 0: none."
    )
    batch_size: PositiveInteger = Field(
        default=256, description="Steps of the demonstrations in an update, >= 1."
    )
    updates_per_epoch: PositiveInteger = Field(
        default=100, description="Updates of an epoch, >= 1."
    )
    warmup_updates: NonNegativeInteger = Field(
        default=0, description="Updates over which the learning rate rises from 0, >= 0."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = IMITATION_EFFECT_RULES
