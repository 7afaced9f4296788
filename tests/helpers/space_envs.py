"""Environments of every kind of space: observations are drawn, actions are checked."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

OBSERVATIONS: dict[str, spaces.Space] = {
    "box": spaces.Box(-1.0, 1.0, (3,), np.float32),
    "matrix": spaces.Box(-1.0, 1.0, (2, 3), np.float64),
    "unbounded": spaces.Box(-np.inf, np.inf, (3,), np.float32),
    "discrete": spaces.Discrete(5, start=-2),
    "multi_discrete": spaces.MultiDiscrete([4, 2]),
    "multi_binary": spaces.MultiBinary(3),
    "dict": spaces.Dict(
        {
            "b": spaces.Box(-1.0, 1.0, (2,), np.float32),
            "a": spaces.MultiDiscrete([3, 2]),
            "c": spaces.Dict({"d": spaces.Discrete(3)}),
        }
    ),
    "tuple": spaces.Tuple((spaces.Discrete(2), spaces.Box(0.0, 1.0, (2,), np.float32))),
    "picture": spaces.Box(0, 255, (48, 48, 3), np.uint8),
    "picture_first": spaces.Box(0, 255, (1, 40, 44), np.uint8),
}
ACTIONS: dict[str, spaces.Space] = {
    "discrete": spaces.Discrete(3, start=-1),
    "multi_discrete": spaces.MultiDiscrete([3, 2]),
    "multi_binary": spaces.MultiBinary(4),
    "box": spaces.Box(np.array([-2.0, 0.0]), np.array([2.0, 0.5]), dtype=np.float64),
    "scalar": spaces.Box(-1.0, 3.0, (), np.float32),
    "unbounded": spaces.Box(-np.inf, np.inf, (2,), np.float32),
    "half_bounded": spaces.Box(
        np.array([0.0, -np.inf], np.float32), np.array([np.inf, 1.0], np.float32)
    ),
}


class DrawnEnv(gym.Env):
    """Draws its observations, pays a small reward for a small action; episodes of 7 steps.

    Args:
        sees: Key of `OBSERVATIONS`.
        acts: Key of `ACTIONS`.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self, sees: str = "box", acts: str = "discrete", render_mode: str | None = None
    ) -> None:
        self.observation_space, self.action_space = OBSERVATIONS[sees], ACTIONS[acts]
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.count = 0
        return self._draw(), {}

    def step(self, action: Any):
        assert self.action_space.contains(action), (action, self.action_space)
        self.count += 1
        reward = 1.0 / (1.0 + float(np.abs(np.asarray(action, np.float64)).sum()))
        return self._draw(), reward, False, self.count >= 7, {}

    def _draw(self) -> Any:
        self.observation_space.seed(int(self.np_random.integers(2**31)))
        return self.observation_space.sample()


gym.register("Drawn-v0", entry_point=f"{__name__}:DrawnEnv")
