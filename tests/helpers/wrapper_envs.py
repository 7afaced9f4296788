"""Environments for tests of wrappers: their numbers are known, their spaces any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np


class ScriptedEnv(gym.Env):
    """Shows given observations in turn and pays 1, 2, 3, ...; remembers what it was told to do.

    Args:
        observations: The first is of the reset; the last ends the episode.
        space: Observation space.
        actions: Action space.
        ending: "terminated" or "truncated".
        infos: The info of each observation, if any.
    """

    metadata = {"render_modes": [], "render_fps": 30}  # noqa: RUF012

    def __init__(
        self,
        observations: Sequence[Any],
        *,
        space: gym.Space | None = None,
        actions: gym.Space | None = None,
        ending: str = "terminated",
        infos: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        self.observations = list(observations)
        self.observation_space = space or gym.spaces.Box(-100.0, 100.0, (1,), np.float32)
        self.action_space = actions or gym.spaces.Discrete(4)
        self.ending, self.infos = ending, infos
        self.taken: list[Any] = []

    def _now(self) -> tuple[Any, dict[str, Any]]:
        return self.observations[self.t], dict(self.infos[self.t]) if self.infos else {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.t = 0
        return self._now()

    def step(self, action: Any):
        self.taken.append(np.array(action).tolist())
        self.t += 1
        is_end = self.t == len(self.observations) - 1
        observation, info = self._now()
        terminated = is_end and self.ending == "terminated"
        return observation, float(self.t), terminated, is_end and not terminated, info


class NoisyEnv(gym.Env):
    """Observes a random number plus the last action; ends after 8 steps."""

    metadata = {"render_modes": [], "render_fps": 30}  # noqa: RUF012
    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.t = 0
        return np.array([self.np_random.random()], np.float32), {}

    def step(self, action: Any):
        self.t += 1
        value = float(self.np_random.random()) + float(action)
        return np.array([value], np.float32), value, self.t == 8, False, {}


class ForeignRandomEnv(NoisyEnv):
    """Draws from a generator of its own and never seeds `np_random`."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any):
        self.t += 1
        return np.array([action], np.float32), 0.0, self.t == 8, False, {}
