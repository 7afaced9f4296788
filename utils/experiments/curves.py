"""Learning curves of several runs as one, with an interval at every point."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from utils.errors import StorageError
from utils.experiments.methods import Scale
from utils.loggers.jsonl import read_jsonl
from utils.metrics.axis import EPOCHS, TIMESTEPS, Axis, choose_axis
from utils.reports.curves import Curve, read_curve
from utils.reports.summary import EVALUATION_KEY
from utils.run import Run
from utils.statistics import Interval, bootstrap_interval, interquartile_mean

TRAINING_KEY = "train/roll/ep_rew_mean"
N_POINTS = 60
_RESAMPLES = 1000
_FEW_POINTS = 5


@dataclass(frozen=True, slots=True)
class Band:
    """The interquartile mean of several runs over the timesteps, with its 95 % interval."""

    timesteps: np.ndarray
    """(P,) float64, rising; shares of the training where several tasks are put together."""
    value: np.ndarray
    """(P,) float64."""
    low: np.ndarray
    """(P,) float64, NaN for a single run."""
    high: np.ndarray
    n_runs: int

    def at(self, share: float) -> Interval:
        """Return the band after a share of its length, in [0, 1]."""
        index = min(len(self.value) - 1, round(share * (len(self.value) - 1)))
        return Interval(float(self.value[index]), float(self.low[index]), float(self.high[index]))


def read_run_curve(run: Run, key: str, *, over: str = TIMESTEPS.key) -> Curve | None:
    """Return one metric of a run over its timesteps; None where it has none or is damaged."""
    try:
        curve = read_curve(read_jsonl(run.metrics_jsonl), key, over=over)
    except (StorageError, OSError):
        return None
    return curve if len(curve) else None


def choose_common_axis(runs: Sequence[Run]) -> Axis:
    """Return what goes on in each of the runs; see `choose_axis`. Damaged ones have no say."""
    axes = set()
    for run in runs:
        with contextlib.suppress(StorageError, OSError):
            if rows := read_jsonl(run.metrics_jsonl):
                axes.add(choose_axis(rows))
    return axes.pop() if len(axes) == 1 else EPOCHS


def choose_curve_key(runs: Sequence[Run]) -> str:
    """Return the key of the return in evaluations; of that in training where runs have few."""
    curves = [read_run_curve(run, EVALUATION_KEY) for run in runs]
    lengths = sorted(0 if curve is None else len(curve) for curve in curves)
    has_enough = bool(lengths) and lengths[len(lengths) // 2] >= _FEW_POINTS
    has_training = any(read_run_curve(run, TRAINING_KEY) is not None for run in runs)
    return EVALUATION_KEY if has_enough or not has_training else TRAINING_KEY


def build_band(tasks: Sequence[Sequence[Curve]], scales: Sequence[Scale] = ()) -> Band | None:
    """Return the band of runs of one task, or of several whose scores are normalised.

    Between its points a curve is a line. A run that ended before the others, since it had reached
    its goal, counts with its last value from there on; before the first value of the latest run
    there is no band.

    Args:
        tasks: For each task the curves of its runs.
        scales: Of each task; none for a single one.

    Returns:
        None where no run has a curve.
    """
    kept = [[curve for curve in curves if len(curve)] for curves in tasks]
    if not all(kept) or not kept:
        return None
    grids = [_grid(curves) for curves in kept]
    values = [
        np.stack([np.interp(grid, curve.x, curve.values) for curve in curves])
        for grid, curves in zip(grids, kept, strict=True)
    ]
    if scales:
        values = [scale.apply(value) for scale, value in zip(scales, values, strict=True)]
    points = [
        bootstrap_interval(
            [value[:, p] for value in values], interquartile_mean, n_resamples=_RESAMPLES
        )
        for p in range(N_POINTS)
    ]
    value, low, high = np.array(points, dtype=np.float64).T
    x = grids[0] if len(grids) == 1 else np.linspace(0.0, 1.0, N_POINTS)
    return Band(x, value, low, high, sum(map(len, kept)))


def _grid(curves: Sequence[Curve]) -> np.ndarray:
    first = max(curve.x[0] for curve in curves)
    last = max(curve.x[-1] for curve in curves)
    return np.linspace(min(first, last), last, N_POINTS)


def has_interval(band: Band) -> bool:
    """Say whether a band has a width."""
    return not math.isnan(float(band.low[0]))
