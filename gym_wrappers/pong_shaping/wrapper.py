"""Rewards a Pong player for being where the ball is, without changing which policy is best."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
from typing_extensions import override

from gym_wrappers.potential_shaping import PotentialShaping
from utils.errors import ConfigError

_FIELD_HEIGHT = 160.0  # pixels
_HALF_PADDLE, _HALF_BALL = 8.0, 2.0  # pixels


class PongShaping(PotentialShaping):
    """Adds potential-based shaping to the reward: gamma * phi(s') - phi(s).

    phi = -scale * |ball y - paddle y|, between the middles, in heights of the field, and 0 while
    no ball is in play; see `PotentialShaping`.
    """

    def __init__(self, env: gym.Env, *, gamma: float, scale: float = 1.0) -> None:
        """Wrap a game of Pong; what it shows does not matter.

        Args:
            env: Its core tells where the objects are (`read_objects`).
            gamma: The agent's discount, in (0, 1]; a config must give both the same number.
            scale: Shaping reward for the way from one border of the field to the other.

        Raises:
            ConfigError: The environment is another one.
        """
        super().__init__(env, gamma=gamma)
        if getattr(env.unwrapped, "game", None) != "pong":
            raise ConfigError("env_wrappers: PongShaping needs ALE/Pong-v5")
        self._scale = scale

    @override
    def compute_potential(self, observation: Any) -> float:
        objects = self.env.unwrapped.read_objects()
        ball = objects["ball y"] + _HALF_BALL
        distance = abs(ball - objects["player y"] - _HALF_PADDLE) / _FIELD_HEIGHT
        return 0.0 if math.isnan(distance) else -self._scale * distance
