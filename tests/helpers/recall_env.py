"""A task for a memory that is carried through an episode, and emptied after it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class RecallEnv(gym.Env):
    """The first observation may show a signal, all others show nothing; say whether it did.

    Every step pays a share of 1 for the right answer, so a perfect episode returns 1 and a guess
    one half. Without a signal the first observation looks like all others: that an episode began
    can only be known from a memory that is empty. Episodes are of 3 to 12 steps, drawn anew.
    """

    metadata = {"render_modes": []}  # noqa: RUF012
    max_episode_steps = 12

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.signal = int(self.np_random.integers(2))
        self.length = int(self.np_random.integers(3, 13))
        self.count = 0
        return np.array([self.signal], np.float32), {}

    def step(self, action: Any):
        self.count += 1
        reward = float(action == self.signal) / self.length
        return np.zeros(1, np.float32), reward, self.count == self.length, False, {}


gym.register("Recall-v0", entry_point=f"{__name__}:RecallEnv")
