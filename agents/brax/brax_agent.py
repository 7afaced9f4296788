"""A policy of Brax among the agents: it plays; Brax trains it."""

from __future__ import annotations

from typing import Any, NoReturn

import gymnasium as gym
from typing_extensions import override

from agents.base_agent import BaseAgent
from utils.brax_policies.policy import BraxPolicy
from utils.config import BraxConfig
from utils.errors import ConfigError


class BraxAgent(BaseAgent):
    """Knows how to rebuild the networks of a policy that Brax has trained."""

    config: BraxConfig  # type: ignore[assignment]

    def __init__(self, config: BraxConfig, *, run: Any = None) -> NoReturn:
        """Refuse: Brax trains, in a program of its own.

        Raises:
            ConfigError: Always.
        """
        del run
        raise ConfigError(
            f"{config.config_id} is trained by Brax: python scripts/brax_train_policy.py "
            f"{config.env_id}"
        )

    @staticmethod
    @override
    def build_models(
        config: BraxConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> BraxPolicy:
        assert isinstance(observation_space, gym.spaces.Box), observation_space
        assert isinstance(action_space, gym.spaces.Box), action_space
        kwargs = config.policy_kwargs
        return BraxPolicy(
            observation_space,
            action_space,
            hidden_dims=kwargs.hidden_dims,
            value_dims=kwargs.value_dims,
        )
