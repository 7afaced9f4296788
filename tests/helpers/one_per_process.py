"""An environment like an emulator that a process can hold once; a second one crashes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

ENV_ID = "tests.helpers.one_per_process:OnePerProcess-v0"


class OnePerProcess(gym.Env):
    """Counts steps to 5; refuses to be built while another of its process is open."""

    observation_space = gym.spaces.Box(0.0, 5.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)
    n_open = 0
    n_built = 0

    def __init__(self) -> None:
        if OnePerProcess.n_open:
            raise RuntimeError("Cannot create multiple emulator instances per process")
        OnePerProcess.n_open += 1
        OnePerProcess.n_built += 1
        self._count = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self._count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self._count += 1
        observation = np.array([self._count], np.float32)
        return observation, float(action), self._count == 5, False, {}

    def close(self) -> None:
        OnePerProcess.n_open = 0


gym.register("OnePerProcess-v0", entry_point="tests.helpers.one_per_process:OnePerProcess")
