"""Means of what environments tell of their latest episodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np


def pick_rows(metrics: Mapping[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return some environments' values of every quantity.

    Args:
        metrics: `infos["episode_metrics"]`, (N,) float64 by name, NaN where nothing was told.
        rows: (K,) indices of environments.
    """
    return {name: column[rows] for name, column in metrics.items()}


def mean_metrics(told: Mapping[str, Any]) -> dict[str, float]:
    """Return the mean of each quantity over the episodes that have it; none is left out as NaN."""
    means = {}
    for name, values in told.items():
        known = np.asarray(values, dtype=np.float64)
        known = known[~np.isnan(known)]
        if known.size:
            means[name] = float(known.mean())
    return means


class MetricsWindow:
    """The last values of each quantity that was told of an episode."""

    def __init__(self, window: int) -> None:
        """Keep the last `window` values of each."""
        self._window = window
        self._values: dict[str, deque[float]] = {}

    def extend(self, metrics: Mapping[str, np.ndarray]) -> None:
        """Take the values of finished episodes, (K,) by name; NaN is no value."""
        for name, values in metrics.items():
            kept = self._values.setdefault(name, deque(maxlen=self._window))
            kept.extend(values[~np.isnan(values)].tolist())

    def means(self) -> dict[str, float]:
        """Return the mean of each quantity that has values."""
        return mean_metrics(self._values)

    def state_dict(self) -> dict[str, list[float]]:
        """Return the values as plain lists."""
        return {name: list(values) for name, values in self._values.items()}

    def load_state_dict(self, state: Mapping[str, list[float]]) -> None:
        """Restore what `state_dict` returned."""
        self._values = {name: deque(kept, maxlen=self._window) for name, kept in state.items()}
