"""Rewards the energy that the mountain car gains, without changing which policy is best."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
from typing_extensions import override

_GRAVITY = 0.0025  # of gymnasium's MountainCar and MountainCarContinuous


class MountainCarEnergy(gym.Wrapper):
    """Adds potential-based shaping to the reward: gamma * phi(s') - phi(s).

    phi = scale * (v^2 / 2 + gravity / 3 * sin(3 x)), the car's mechanical energy; 0 once the
    episode has terminated, which keeps the best policy as it is (Ng, Harada, Russell 1999,
    "Policy invariance under reward transformations", theorem 1).
    """

    changes_reward = True

    def __init__(self, env: gym.Env, *, gamma: float, scale: float = 1000.0) -> None:
        """Wrap a MountainCar environment.

        Args:
            env: Observations are (position, velocity).
            gamma: The agent's discount, in (0, 1]; a config must give both the same number.
            scale: Shaping reward per unit of energy; the energy spans about 0.003.
        """
        super().__init__(env)
        self._gamma, self._scale = gamma, scale
        self._potential = 0.0
        self.raw_reward = 0.0

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.raw_reward = float(reward)
        potential = 0.0 if terminated else self._compute_potential(observation)
        shaped = self.raw_reward + self._gamma * potential - self._potential
        self._potential = potential
        return observation, shaped, terminated, truncated, info

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._potential = self._compute_potential(observation)
        return observation, info

    def _compute_potential(self, observation: Any) -> float:
        position, velocity = float(observation[0]), float(observation[1])
        energy = 0.5 * velocity**2 + _GRAVITY / 3.0 * math.sin(3.0 * position)
        return self._scale * energy
