"""An environment that shows what was done: it tells whether actions and observations are paired."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

N = 4


class EchoEnv(gym.Env):
    """Shows the last action one-hot, and zeros at the start of an episode; pays the action.

    Episodes are of 5 to 9 steps, drawn anew; every other one is cut off rather than ended.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (N,), np.float32)
        self.action_space = spaces.Discrete(N)
        self.render_mode = render_mode
        self.n_episodes = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.length = int(self.np_random.integers(5, 10))
        self.count = 0
        self.n_episodes += 1
        return np.zeros(N, np.float32), {}

    def step(self, action: Any):
        self.count += 1
        is_over, is_cut = self.count == self.length, self.n_episodes % 2 == 0
        shown = np.eye(N, dtype=np.float32)[int(action)]
        return shown, float(action), is_over and not is_cut, is_over and is_cut, {}


gym.register("Echo-v0", entry_point=f"{__name__}:EchoEnv")
