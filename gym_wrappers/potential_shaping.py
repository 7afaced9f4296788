"""Potential-based reward shaping: what the shaping wrappers have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium as gym
from typing_extensions import override


class PotentialShaping(gym.Wrapper):
    """Adds gamma * phi(s') - phi(s) to each reward, which leaves the best policy as it is.

    phi counts as 0 once the episode has terminated (Ng, Harada, Russell 1999, "Policy invariance
    under reward transformations", theorem 1); in a truncated episode it is that of the last state.

    Attributes:
        raw_reward: Reward of the last step before shaping.
    """

    changes_reward = True

    def __init__(self, env: gym.Env, *, gamma: float) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            gamma: The agent's discount, in (0, 1]; a config must give both the same number.
        """
        super().__init__(env)
        self._gamma = gamma
        self._potential = 0.0
        self.raw_reward = 0.0

    @abstractmethod
    def compute_potential(self, observation: Any) -> float:
        """Return phi of a state that is not terminal, in units of reward."""

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.raw_reward = float(reward)
        potential = 0.0 if terminated else self.compute_potential(observation)
        shaped = self.raw_reward + self._gamma * potential - self._potential
        self._potential = potential
        return observation, shaped, terminated, truncated, info

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._potential = self.compute_potential(observation)
        return observation, info
