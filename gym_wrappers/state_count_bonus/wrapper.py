"""Pays the learner a bonus for states that were seldom visited."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import CheckpointError, ConfigError


class StateCountBonus(gym.Wrapper):
    """Adds beta / sqrt(n(s')) to each reward, n counting the visits of the state that was reached.

    Strehl and Littman 2008, "An analysis of model-based interval estimation for Markov decision
    processes", MBIE-EB, with states in place of pairs of state and action; Bellemare et al. 2016,
    "Unifying count-based exploration and intrinsic motivation", equation 1, gives states that
    cannot be counted pseudo-counts instead.

    A continuous observation counts by cells: each number is divided by its width and rounded down.
    Every environment counts for itself, over all its episodes, and the counts are saved with the
    run. Evaluation and play have counts of their own; their reported returns are raw anyway.

    Attributes:
        raw_reward: Reward of the last step without the bonus.
    """

    changes_reward = True

    def __init__(
        self, env: gym.Env, *, beta: float = 0.1, cell_size: float | list[float] | None = None
    ) -> None:
        """Wrap `env`.

        Args:
            env: Its observation is Discrete, MultiDiscrete, MultiBinary or a Box.
            beta: Bonus of the first visit, > 0.
            cell_size: Width of a cell, one for all numbers of a Box or one for each; integers
                count as they are where it is left out.

        Raises:
            ConfigError: The observation cannot be counted, or an argument does not fit it.
        """
        super().__init__(env)
        if not beta > 0:
            raise ConfigError(f"env_wrappers: StateCountBonus needs beta > 0, not {beta}")
        self._beta = beta
        self._cell_size = _read_cell_size(env.observation_space, cell_size)
        self._counts: dict[tuple[int, ...], int] = {}
        self.raw_reward = 0.0

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.raw_reward = float(reward)
        state = self._to_cell(observation)
        count = self._counts.get(state, 0) + 1
        self._counts[state] = count
        bonus = self._beta / math.sqrt(count)
        return observation, self.raw_reward + bonus, terminated, truncated, info

    def count(self, observation: Any) -> int:
        """Return how often the state of an observation was reached."""
        return self._counts.get(self._to_cell(observation), 0)

    def _to_cell(self, observation: Any) -> tuple[int, ...]:
        values = np.asarray(observation).reshape(-1)
        if self._cell_size is not None:
            values = np.floor(values / self._cell_size)
        return tuple(values.astype(np.int64).tolist())

    def get_memory(self) -> dict[str, np.ndarray]:
        """Return all counts: cells (n, d) int64 and counts (n,) int64."""
        n_numbers = int(np.prod(self.env.observation_space.shape, dtype=int))
        cells = np.array(list(self._counts), dtype=np.int64).reshape(-1, n_numbers)
        return {"cells": cells, "counts": np.array(list(self._counts.values()), dtype=np.int64)}

    def set_memory(self, memory: dict[str, np.ndarray]) -> None:
        """Count on from what `get_memory` returned.

        Raises:
            CheckpointError: The cells are of other observations.
        """
        n_numbers = int(np.prod(self.env.observation_space.shape, dtype=int))
        cells = np.asarray(memory["cells"])
        if cells.shape[1:] != (n_numbers,):
            raise CheckpointError(
                f"the saved counts of StateCountBonus have cells of {cells.shape[1:]} numbers, "
                f"not {n_numbers}"
            )
        counts = np.asarray(memory["counts"]).tolist()
        self._counts = dict(zip(map(tuple, cells.tolist()), counts, strict=True))


def _read_cell_size(space: gym.Space, cell_size: float | list[float] | None) -> np.ndarray | None:
    """Check the widths; None where the numbers are whole already."""
    is_box = isinstance(space, gym.spaces.Box)
    countable = (gym.spaces.Discrete, gym.spaces.MultiDiscrete, gym.spaces.MultiBinary)
    if not is_box and not isinstance(space, countable):
        raise ConfigError(
            f"env_wrappers: StateCountBonus cannot count observations of {type(space).__name__}"
        )
    if cell_size is None:
        if is_box and not np.issubdtype(space.dtype, np.integer):
            raise ConfigError(
                "env_wrappers: StateCountBonus needs cell_size for observations that are not whole"
            )
        return None
    if not is_box:
        raise ConfigError("env_wrappers: StateCountBonus: cell_size is for a Box only")
    width = np.asarray(cell_size, dtype=np.float64)
    n_numbers = int(np.prod(space.shape, dtype=int))
    if width.shape not in ((), (n_numbers,)) or not (width > 0).all():
        raise ConfigError(
            f"env_wrappers: StateCountBonus: cell_size must be one width > 0 or {n_numbers} of "
            f"them, got {cell_size}"
        )
    return width
