"""From spaces and settings to a policy module."""

from __future__ import annotations

import gymnasium as gym

from utils.errors import ConfigError
from utils.policies import (
    ActorCritic,
    PolicyEvaluation,
    PolicySettings,
    PolicyStep,
    build_distribution,
    policy_settings_from_config,
)
from utils.spaces import is_picture

__all__ = [
    "ActorCritic",
    "PolicyEvaluation",
    "PolicySettings",
    "PolicyStep",
    "build_distribution",
    "build_policy",
    "policy_settings_from_config",
]


def build_policy(
    observation_space: gym.Space, action_space: gym.Space, settings: PolicySettings
) -> ActorCritic:
    """Build the policy for a pair of single spaces.

    Raises:
        ConfigError: A space that no policy can read or act in, or a setting that somebody wrote
            and that does nothing for these spaces.
    """
    distribution, n_parameters = build_distribution(action_space)
    if faults := _ineffective_settings(settings, observation_space, action_space):
        raise ConfigError("\n".join(faults))
    return ActorCritic(observation_space, distribution, n_parameters, settings)


def _ineffective_settings(
    settings: PolicySettings, observation_space: gym.Space, action_space: gym.Space
) -> list[str]:
    """Say of each setting that only some spaces give a meaning why it has no effect here."""
    faults = []
    is_box = isinstance(action_space, gym.spaces.Box)
    if "log_std_init" in settings.written and not is_box:
        faults.append(
            f"'policy_kwargs.log_std_init' has no effect on the action space {action_space}: only "
            "actions of a Box have a standard deviation"
        )
    if settings.action_masks and is_box:
        faults.append(
            f"'action_masks' has no effect on the action space {action_space}: only choices "
            "(Discrete, MultiDiscrete, MultiBinary) can be forbidden"
        )
    is_dict = isinstance(observation_space, gym.spaces.Dict)
    parts = observation_space.spaces.values() if is_dict else [observation_space]
    if "feature_dim" in settings.written and not any(map(is_picture, parts)):
        faults.append(
            f"'policy_kwargs.feature_dim' has no effect on the observation space "
            f"{' '.join(str(observation_space).split())}: it holds no picture for convolutions"
        )
    return faults
