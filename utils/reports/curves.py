"""Metrics of a run as curves over its timesteps, or over what goes on where those do not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from utils.metrics.axis import TIMESTEPS


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric over the run."""

    x: np.ndarray
    """(K,) float64, rising: timesteps, unless it was read over something else."""
    values: np.ndarray
    """(K,) float64, finite."""

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.values)


def read_curve(rows: Sequence[Mapping[str, Any]], key: str, *, over: str = TIMESTEPS.key) -> Curve:
    """Return one metric of all rows that have a finite value of it, over another."""
    points = [(row[over], row[key]) for row in rows if math.isfinite(row.get(key, math.nan))]
    table = np.array(points, dtype=np.float64).reshape(-1, 2)
    return Curve(table[:, 0], table[:, 1])


def thin(curve: Curve, *, n_points: int) -> Curve:
    """Average pieces of equal length so that at most `n_points` are left; short ones stay."""
    size = -(-len(curve) // n_points)
    if size <= 1:
        return curve
    starts = np.arange(0, len(curve), size)
    counts = np.diff(starts, append=len(curve))
    return Curve(
        np.add.reduceat(curve.x, starts) / counts,
        np.add.reduceat(curve.values, starts) / counts,
    )


def smooth(curve: Curve, *, window: int) -> Curve:
    """Return the centred moving mean over `window` points (odd), fewer of them at both ends."""
    assert window % 2 == 1, window
    half = window // 2
    sums = np.concatenate(([0.0], np.cumsum(curve.values)))
    index = np.arange(len(curve))
    low, high = np.maximum(index - half, 0), np.minimum(index + half + 1, len(curve))
    return Curve(curve.x, (sums[high] - sums[low]) / (high - low))
