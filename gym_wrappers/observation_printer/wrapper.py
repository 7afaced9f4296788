"""Prints observations as lines of `label=value`, to see what a learner sees."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import ConfigError

_MOST_NUMBERS = 64


class ObservationPrinter(gym.Wrapper):
    """Writes every k-th step of each episode, and its reset, to the standard error stream.

    A line holds the step, the reward, whether the episode ended, and each number of the
    observation; of pictures and other large arrays the shape, the range and the mean.
    """

    def __init__(
        self, env: gym.Env, *, every: int = 1, labels: Sequence[str] | None = None
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            every: Steps from one line to the next, >= 1; the last step of an episode always has
                one.
            labels: Names of the numbers of the observation, in order; x0, x1, ... if left out.

        Raises:
            ConfigError: `every` is below 1, or there are more or fewer labels than numbers.
        """
        super().__init__(env)
        if not isinstance(every, int) or every < 1:
            raise ConfigError(
                "env_wrappers: ObservationPrinter: every must be a whole number >= 1, got "
                f"{every!r}"
            )
        space = env.observation_space
        shape = space.shape
        n_numbers = None if shape is None else int(np.prod(shape, dtype=int))
        if labels is not None and len(labels) != n_numbers:
            raise ConfigError(
                f"env_wrappers: ObservationPrinter: {len(labels)} labels for {n_numbers} numbers"
            )
        self._every, self._labels = every, labels
        self._n_steps = 0

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._n_steps = 0
        self._print(f"reset {self._describe(observation)}")
        return observation, info

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._n_steps += 1
        end = " terminated" if terminated else " truncated" if truncated else ""
        if end or self._n_steps % self._every == 0:
            self._print(
                f"step {self._n_steps} action={action} reward={float(reward):g}{end} "
                f"{self._describe(observation)}"
            )
        return observation, float(reward), terminated, truncated, info

    def _describe(self, observation: Any) -> str:
        if isinstance(observation, dict):
            return " ".join(f"{key}: {_numbers(value)}" for key, value in observation.items())
        return _numbers(observation, self._labels)

    @staticmethod
    def _print(line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def _numbers(value: Any, labels: Sequence[str] | None = None) -> str:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return repr(value)
    if array.size > _MOST_NUMBERS:
        return f"shape={array.shape} min={array.min():g} max={array.max():g} mean={array.mean():g}"
    flat = array.reshape(-1).tolist()
    names = labels or [f"x{i}" for i in range(len(flat))]
    return " ".join(f"{name}={number:g}" for name, number in zip(names, flat, strict=True))
