"""What environments tell of a whole episode with its last step, as one column per quantity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

EPISODE_METRICS = "episode_metrics"
"""Key of an environment's info at the end of an episode, and of a vector env's infos."""
IS_SUCCESS = "is_success"
"""Name of the metric that says whether an episode reached its goal, 1 or 0. It is also a key of the
info itself in families that tell it there (Gymnasium's robotics)."""


class EpisodeMetrics:
    """Gathers `info["episode_metrics"]`, a mapping of name to number, over one vector step."""

    def __init__(self, n_envs: int) -> None:
        """Start without any."""
        self._n_envs = n_envs
        self._told: dict[int, dict[str, float]] = {}

    def take(self, i: int, info: Mapping[str, Any]) -> None:
        """Take what environment `i` tells in the info of an episode's last step, if anything."""
        metrics = info.get(EPISODE_METRICS) or {}
        told = {str(name): float(value) for name, value in metrics.items()}
        if IS_SUCCESS in info:
            told[IS_SUCCESS] = float(info[IS_SUCCESS])
        if told:
            self._told[i] = told

    def take_columns(self) -> dict[str, np.ndarray]:
        """Return (N,) float64 by name, NaN where an environment told nothing; forget them."""
        columns: dict[str, np.ndarray] = {}
        for i, metrics in self._told.items():
            for name, value in metrics.items():
                if name not in columns:
                    columns[name] = np.full(self._n_envs, np.nan)
                columns[name][i] = value
        self._told.clear()
        return columns


def join_columns(
    parts: Iterable[tuple[slice, Mapping[str, np.ndarray]]], n_envs: int
) -> dict[str, np.ndarray]:
    """Put the columns of parts of the environments together.

    Args:
        parts: The rows of a part, and its columns.
        n_envs: Number of all environments N.

    Returns:
        (N,) float64 by name, NaN where nothing was told.
    """
    joined: dict[str, np.ndarray] = {}
    for rows, columns in parts:
        for name, column in columns.items():
            if name not in joined:
                joined[name] = np.full(n_envs, np.nan)
            joined[name][rows] = column
    return joined
