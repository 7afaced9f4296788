"""Rewards the energy that the mountain car gains, without changing which policy is best."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
from typing_extensions import override

from gym_wrappers.potential_shaping import PotentialShaping, require_own_numbers

_GRAVITY = 0.0025  # of gymnasium's MountainCar and MountainCarContinuous


class MountainCarEnergy(PotentialShaping):
    """Adds potential-based shaping to the reward: gamma * phi(s') - phi(s).

    phi = scale * (v^2 / 2 + gravity / 3 * sin(3 x)), the car's mechanical energy; see
    `PotentialShaping`.
    """

    def __init__(self, env: gym.Env, *, gamma: float, scale: float = 1000.0) -> None:
        """Wrap a MountainCar environment.

        Args:
            env: Observations are (position, velocity).
            gamma: The agent's discount, in (0, 1]; a config must give both the same number.
            scale: Shaping reward per unit of energy; the energy spans about 0.003.

        Raises:
            ConfigError: It is another environment, or a wrapper below changes what it shows.
        """
        super().__init__(env, gamma=gamma)
        require_own_numbers(env, wrapper="MountainCarEnergy", task="MountainCar", n_numbers=2)
        self._scale = scale

    @override
    def compute_potential(self, observation: Any) -> float:
        position, velocity = float(observation[0]), float(observation[1])
        energy = 0.5 * velocity**2 + _GRAVITY / 3.0 * math.sin(3.0 * position)
        return self._scale * energy
