"""Intervals by drawing runs again: each task's runs among themselves (stratified bootstrap)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from utils.statistics.intervals import student_t_975

N_RESAMPLES = 5000
_SEED = 20210613
_CHUNK_NUMBERS = 1 << 22


class Interval(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    """NaN where one run tells of no spread."""
    high: float


def bootstrap_interval(
    scores: Sequence[np.ndarray],
    aggregate: Callable[[np.ndarray], np.ndarray],
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = _SEED,
) -> Interval:
    """Return an aggregate of runs and its 95 % interval.

    Args:
        scores: For each task the scores (n,) of its runs.
        aggregate: (..., all runs of all tasks) to (...).
        n_resamples: Bootstrap samples, >= 1.
        seed: Equal scores and seeds give equal intervals.

    Returns:
        The interval. Its ends are NaN where no task has two runs.
    """
    return bootstrap_many(
        [scores],
        lambda drawn: aggregate(np.concatenate(drawn[0], axis=-1)),
        n_resamples=n_resamples,
        seed=seed,
    )


def bootstrap_many(
    methods: Sequence[Sequence[np.ndarray]],
    statistic: Callable[[list[list[np.ndarray]]], np.ndarray],
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = _SEED,
) -> Interval:
    """Return a statistic of the runs of several methods and its 95 % interval.

    The runs of each method on each task are drawn among themselves. The interval is made of
    percentiles of the drawn statistics. These are further out than 2.5 % and 97.5 %, since draws
    from n runs spread by sqrt((n - 1) / n) less than runs do, and few runs tell little of their
    spread: ``Phi(sqrt(n / (n - 1)) * t)`` with t Student's quantile (Hesterberg 2015, "What
    teachers should know about the bootstrap", section 5.3).

    Args:
        methods: For each method and task the scores (n,) of the runs.
        statistic: For each method and task the drawn scores (R, n), to (R,).
        n_resamples: R, >= 1.
        seed: Of the draws.
    """
    whole = [[np.asarray(x, dtype=np.float64)[None] for x in tasks] for tasks in methods]
    assert all(x.shape[1] >= 1 for tasks in whole for x in tasks), "a task without runs"
    value = float(statistic(whole)[0])
    sizes = [x.shape[1] for tasks in whole for x in tasks]
    if max(sizes) < 2:
        return Interval(value, math.nan, math.nan)
    generator = np.random.default_rng(seed)
    size = max(1, _CHUNK_NUMBERS // sum(sizes))
    parts = []
    for begin in range(0, n_resamples, size):
        n = min(size, n_resamples - begin)
        parts.append(statistic([[_draw(x[0], n, generator) for x in tasks] for tasks in whole]))
    share = tail_share(sizes)
    low, high = np.quantile(np.concatenate(parts), [share, 1.0 - share])
    return Interval(value, float(low), float(high))


def tail_share(sizes: Sequence[int]) -> float:
    """Return the share of bootstrap samples outside either end of the interval.

    Args:
        sizes: Runs of each stratum; those of one run do not count.
    """
    counts = [n for n in sizes if n > 1]
    degrees = sum(n - 1 for n in counts)
    widening = math.sqrt(sum(counts) / degrees)
    return 0.5 * math.erfc(widening * student_t_975(degrees) / math.sqrt(2.0))


def _draw(score: np.ndarray, n_resamples: int, generator: np.random.Generator) -> np.ndarray:
    n = len(score)
    return score[generator.integers(0, n, size=(n_resamples, n))]
