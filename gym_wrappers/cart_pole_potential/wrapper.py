"""Rewards an upright pole and a cart in the middle, without changing which policy is best."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from typing_extensions import override

from gym_wrappers.potential_shaping import PotentialShaping, require_own_numbers

_ANGLE_LIMIT = 0.2095  # rad, where gymnasium's CartPole ends the episode
_POSITION_LIMIT = 2.4  # m, likewise


class CartPolePotential(PotentialShaping):
    """Adds potential-based shaping to the reward: gamma * phi(s') - phi(s).

    phi = -scale * (angle_weight * (theta / 0.2095)^2 + (1 - angle_weight) * (x / 2.4)^2), 0 with
    the pole upright in the middle and -scale at the limits; see `PotentialShaping`.
    """

    def __init__(
        self, env: gym.Env, *, gamma: float, scale: float = 1.0, angle_weight: float = 0.75
    ) -> None:
        """Wrap a CartPole environment.

        Args:
            env: Observations are (position, velocity, angle, angular velocity).
            gamma: The agent's discount, in (0, 1]; a config must give both the same number.
            scale: Shaping reward between the best and the worst state.
            angle_weight: Share of the pole in it, 0 to 1; the rest is the cart's.

        Raises:
            ConfigError: It is another environment, or a wrapper below changes what it shows.
        """
        super().__init__(env, gamma=gamma)
        require_own_numbers(env, wrapper="CartPolePotential", task="CartPole", n_numbers=4)
        self._scale, self._angle_weight = scale, angle_weight

    @override
    def compute_potential(self, observation: Any) -> float:
        position = float(observation[0]) / _POSITION_LIMIT
        angle = float(observation[2]) / _ANGLE_LIMIT
        weight = self._angle_weight
        return -self._scale * (weight * angle**2 + (1.0 - weight) * position**2)
