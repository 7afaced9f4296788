"""Turns a discrete observation into a vector of floats."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import ConfigError

_ENCODINGS = ("one_hot", "scaled")


class DiscreteEncoder(gym.ObservationWrapper):
    """Shows a Discrete, MultiDiscrete or MultiBinary observation as a Box of float32.

    one_hot: a 1 at the value's place among zeros, one block after the other. Policies here do
    that by themselves; the wrapper is for what needs a Box, such as `frame_stack`.
    scaled: one number in [0, 1] for each value, (value - start) / (n - 1): for values whose order
    means something.
    """

    def __init__(self, env: gym.Env, *, encoding: str = "one_hot") -> None:
        """Wrap `env`.

        Args:
            env: Its observation is Discrete, MultiDiscrete or MultiBinary.
            encoding: "one_hot" or "scaled".

        Raises:
            ConfigError: Another kind of observation, or an unknown encoding.
        """
        super().__init__(env)
        if encoding not in _ENCODINGS:
            raise ConfigError(
                f"env_wrappers: DiscreteEncoder: encoding must be one of {', '.join(_ENCODINGS)}, "
                f"got '{encoding}'"
            )
        self._starts, self._sizes = _read_values(env.observation_space)
        self._is_one_hot = encoding == "one_hot"
        self._offsets = np.concatenate(([0], np.cumsum(self._sizes)[:-1]))
        width = int(self._sizes.sum()) if self._is_one_hot else len(self._sizes)
        self.observation_space = gym.spaces.Box(0.0, 1.0, (width,), np.float32)

    @override
    def observation(self, observation: Any) -> np.ndarray:
        values = np.asarray(observation).reshape(-1).astype(np.int64) - self._starts
        if not self._is_one_hot:
            return (values / np.maximum(self._sizes - 1, 1)).astype(np.float32)
        encoded = np.zeros(self.observation_space.shape, np.float32)
        encoded[self._offsets + values] = 1.0
        return encoded


def _read_values(space: gym.Space) -> tuple[np.ndarray, np.ndarray]:
    """Return the first value and the number of values of each entry, (n,) int64 both."""
    match space:
        case gym.spaces.Discrete():
            return np.array([space.start], np.int64), np.array([space.n], np.int64)
        case gym.spaces.MultiDiscrete():
            start, sizes = space.start.reshape(-1), space.nvec.reshape(-1)
            return start.astype(np.int64), sizes.astype(np.int64)
        case gym.spaces.MultiBinary():
            n = int(np.prod(space.shape, dtype=int))
            return np.zeros(n, np.int64), np.full(n, 2, np.int64)
    raise ConfigError(
        "env_wrappers: DiscreteEncoder needs Discrete, MultiDiscrete or MultiBinary observations, "
        f"not {type(space).__name__}"
    )
