"""Shows the agent some numbers of an observation and hides the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from typing_extensions import override

from utils.errors import ConfigError


class SelectObservation(gym.ObservationWrapper):
    """Keeps the chosen entries of a vector, in the order in which they are named.

    Without its velocities a task is partially observable: CartPole with `indices: [0, 2]` shows
    positions only, and a policy needs a memory to balance the pole.
    """

    def __init__(self, env: gym.Env, *, indices: Sequence[int]) -> None:
        """Wrap `env`.

        Args:
            env: An environment whose observation is a vector.
            indices: Which entries are kept, counted from 0.

        Raises:
            ConfigError: The observation is no vector, or an index is none of it or comes twice.
        """
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise ConfigError(f"env_wrappers: SelectObservation needs a vector (Box), not {space}")
        chosen = list(indices)
        are_whole = all(isinstance(i, int) and not isinstance(i, bool) for i in chosen)
        if (
            not chosen
            or not are_whole
            or len(set(chosen)) != len(chosen)
            or not set(chosen) <= set(range(space.shape[0]))
        ):
            raise ConfigError(
                "env_wrappers: SelectObservation: indices must be different whole numbers from 0 "
                f"to {space.shape[0] - 1}, got {chosen}"
            )
        self._indices = np.array(chosen)
        self.observation_space = spaces.Box(
            space.low[self._indices], space.high[self._indices], dtype=space.dtype.type
        )

    @override
    def observation(self, observation: Any) -> np.ndarray:
        """Return the chosen entries of an observation."""
        return observation[self._indices]
