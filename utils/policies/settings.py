"""How a policy is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySettings:
    """How a policy is built; the values mean what the config keys of the same names say."""

    hidden_dims: Sequence[int]
    activation: str
    orthogonal_init: bool
    share_trunk: bool
    log_std_init: float
    feature_dim: int
    normalize_obs: str
    clip_obs: float
    has_critic: bool
    memory: str = "none"
    memory_dim: int = 64
    action_masks: bool = False
    normalizes_value: bool = False
    """Give the critic a `PopArtHead`."""
    written: frozenset[str] = frozenset()
    """Names of the settings that somebody wrote: one of them that does nothing is refused."""


def policy_settings_from_config(config: Any, *, has_critic: bool) -> PolicySettings:
    """Pick the settings of a policy out of a config."""
    kwargs = config.policy_kwargs
    return PolicySettings(
        hidden_dims=tuple(kwargs.hidden_dims),
        activation=kwargs.activation,
        orthogonal_init=kwargs.orthogonal_init,
        share_trunk=kwargs.share_trunk,
        log_std_init=kwargs.log_std_init,
        feature_dim=kwargs.feature_dim,
        normalize_obs=config.normalize_obs,
        clip_obs=config.clip_obs,
        has_critic=has_critic,
        memory=kwargs.memory,
        memory_dim=kwargs.memory_dim,
        action_masks=config.action_masks,
        written=frozenset(kwargs.model_fields_set),
    )
