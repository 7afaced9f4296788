"""A treasure that nobody finds by chance: Osband et al. 2019, "Behaviour Suite", deep sea."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium import spaces


class DeepSeaEnv(gym.Env):
    """A diver sinks one row a step through `size` rows and swims left (0) or right (1).

    Every stroke to the right costs 0.01 / size; the treasure, 1, lies in the last column of the
    last row, so that only one of 2^size ways leads to it and all nearer rewards lead away from it.

    Args:
        size: Rows and columns, and steps of an episode.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, size: int = 10, render_mode: str | None = None) -> None:
        self.size = size
        self.observation_space = spaces.Discrete(size * size)
        self.action_space = spaces.Discrete(2)
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.row = self.column = 0
        return 0, {}

    def step(self, action: int):
        reward = -0.01 / self.size if action == 1 else 0.0
        self.column = max(0, min(self.size - 1, self.column + (1 if action == 1 else -1)))
        self.row += 1
        is_over = self.row == self.size
        if is_over and self.column == self.size - 1 and action == 1:
            reward += 1.0
        place = min(self.row, self.size - 1) * self.size + self.column
        return place, reward, is_over, False, {}


gym.register("DeepSea-v0", entry_point=f"{__name__}:DeepSeaEnv")
