"""Offers the learner a grid of values in place of continuous actions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import ConfigError


class ActionGrid(gym.ActionWrapper):
    """Makes each number of a bounded Box action one of several values at equal distances.

    The values reach from the lowest to the highest; an odd number of them has the middle among
    them. One number becomes a Discrete space, several a MultiDiscrete one.
    """

    def __init__(self, env: gym.Env, *, n_values: int | list[int]) -> None:
        """Wrap `env`.

        Args:
            env: Its action is a bounded Box.
            n_values: Values for each number of the action, >= 2: one count for all, or a list.

        Raises:
            ConfigError: The actions are of another kind or unbounded, or a count does not fit.
        """
        super().__init__(env)
        space = env.action_space
        if not isinstance(space, gym.spaces.Box) or not space.is_bounded():
            raise ConfigError(f"env_wrappers: ActionGrid needs a bounded Box action, not {space}")
        low, high = space.low.reshape(-1), space.high.reshape(-1)
        counts = n_values if isinstance(n_values, list) else [n_values] * len(low)
        if len(counts) != len(low) or not all(isinstance(n, int) and n >= 2 for n in counts):
            raise ConfigError(
                f"env_wrappers: ActionGrid: n_values must be one whole number >= 2 or "
                f"{len(low)} of them, got {n_values}"
            )
        self._values = [
            np.linspace(a, b, n, dtype=space.dtype)
            for a, b, n in zip(low, high, counts, strict=True)
        ]
        self.action_space = (
            gym.spaces.Discrete(counts[0]) if len(counts) == 1 else gym.spaces.MultiDiscrete(counts)
        )

    @override
    def action(self, action: Any) -> np.ndarray:
        space = self.env.action_space
        indices = np.asarray(action).reshape(-1)
        chosen = [values[i] for values, i in zip(self._values, indices, strict=True)]
        return np.array(chosen, dtype=space.dtype).reshape(space.shape)
