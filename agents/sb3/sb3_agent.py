"""A policy of Stable-Baselines3 among the agents: it plays, and cannot be trained on."""

from __future__ import annotations

from typing import Any, NoReturn

import gymnasium as gym
from typing_extensions import override

from agents.base_agent import BaseAgent
from utils.config import SB3Config
from utils.errors import ConfigError
from utils.sb3_policies.policy import SB3Policy, build_sb3_policy


class SB3Agent(BaseAgent):
    """Knows how to rebuild the networks of an imported policy."""

    config: SB3Config  # type: ignore[assignment]

    def __init__(self, config: SB3Config, *, run: Any = None) -> NoReturn:
        """Refuse: there is nothing to learn with.

        Raises:
            ConfigError: Always.
        """
        del run
        raise ConfigError(
            f"{config.config_id} was imported from Stable-Baselines3: it is played, inspected and "
            "published as it is, and trained on only there"
        )

    @staticmethod
    @override
    def build_models(
        config: SB3Config, observation_space: gym.Space, action_space: gym.Space
    ) -> SB3Policy:
        return build_sb3_policy(observation_space, action_space, config.policy_kwargs)
