"""Scales bounded observations, such as the bytes of a console's memory, to [-1, 1]."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import ConfigError


class ScaleObservation(gym.ObservationWrapper):
    """Gives a Box observation as float32, its lowest value as -1 and its highest as 1.

    Networks read numbers best that are of the order of 1; `normalize_obs` leaves vectors of whole
    numbers alone.
    """

    def __init__(self, env: gym.Env) -> None:
        """Wrap an environment whose observation is a Box with finite bounds.

        Raises:
            ConfigError: It is none, or a bound is missing.
        """
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, gym.spaces.Box) or not space.is_bounded():
            raise ConfigError(
                f"env_wrappers: ScaleObservation needs a Box with finite bounds, not {space}"
            )
        low, high = space.low.astype(np.float64), space.high.astype(np.float64)
        self._center = ((low + high) / 2).astype(np.float32)
        # A number that cannot change stays where it is: at 0.
        self._half_range = np.where(high > low, (high - low) / 2, 1.0).astype(np.float32)
        self.observation_space = gym.spaces.Box(-1.0, 1.0, space.shape, np.float32)

    @override
    def observation(self, observation: np.ndarray) -> np.ndarray:
        return (observation - self._center) / self._half_range
