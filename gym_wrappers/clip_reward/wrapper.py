"""Clips each reward for the learner; reported returns stay those of the environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from typing_extensions import override

from utils.errors import ConfigError


class ClipReward(gym.Wrapper):
    """Limits each reward to [low, high].

    With -1 and 1, whole-number rewards keep their sign and lose their size, which is the
    reward clipping of Mnih et al. 2015 (doi:10.1038/nature14236) for Atari.

    Attributes:
        bounds: Lowest and highest reward that the learner gets.
        raw_reward: Reward of the last step as the environment paid it.
    """

    changes_reward = True

    def __init__(self, env: gym.Env, *, low: float = -1.0, high: float = 1.0) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            low: Lowest reward that the learner gets.
            high: Highest reward that the learner gets.

        Raises:
            ConfigError: `low` is not below `high`.
        """
        super().__init__(env)
        if not low < high:
            raise ConfigError(f"env_wrappers: ClipReward needs low < high, not {low} and {high}")
        self.bounds = (float(low), float(high))
        self.raw_reward = 0.0

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.raw_reward = float(reward)
        low, high = self.bounds
        clipped = min(max(self.raw_reward, low), high)
        return observation, clipped, terminated, truncated, info
