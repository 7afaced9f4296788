"""Pictures of states, drawn by Gymnasium's own environment."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from gym_envs.physics import classic_spec


class Painter:
    """Hands states to one environment of Gymnasium's and lets it draw them."""

    def __init__(self, env_id: str) -> None:
        """Build the environment that draws."""
        self._env = gym.make(env_id, render_mode="rgb_array").unwrapped
        self._env.reset(seed=0)
        self._n_state = classic_spec(env_id).n_state

    def draw(self, state: np.ndarray) -> np.ndarray:
        """Return the picture of a state (n_state,), (height, width, 3) uint8."""
        assert state.shape == (self._n_state,), state.shape
        self._env.state = state.astype(np.float64)
        return self._env.render()

    def close(self) -> None:
        """Free what it draws with."""
        self._env.close()
