"""The numbers of a comparison."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass

import numpy as np

from utils.experiments.methods import Comparison, Method
from utils.statistics import (
    Interval,
    bootstrap_interval,
    bootstrap_many,
    interquartile_mean,
    mean_half_width,
    optimality_gap,
    probability_of_improvement,
)

FEW_RUNS = 6
"""From so many runs on, intervals of the interquartile mean cover as stated (simulated)."""


@dataclass(frozen=True, slots=True)
class MethodScores:
    """Aggregates of one method."""

    name: str
    n_runs: int
    mean: Interval
    """By Student's t with one task, by drawing runs again with several."""
    iqm: Interval
    median: float
    gap: Interval | None
    """Optimality gap; None where no target is known."""
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class Improvement:
    """How likely a run of one method beats a run of another."""

    method: str
    other: str
    probability: Interval


def summarize_methods(comparison: Comparison) -> list[MethodScores]:
    """Return the aggregates of all methods, the best interquartile mean first."""
    found = [_summarize(comparison, method) for method in comparison.methods]
    return sorted(found, key=lambda scores: -scores.iqm.value)


def summarize_values(name: str, values: np.ndarray, *, target: float | None) -> MethodScores:
    """Return the aggregates of the scores (n,) of one method on one task."""
    return _aggregate(name, [values], target=target)


def improvements(comparison: Comparison) -> list[Improvement]:
    """Return every pair of methods once, in the direction in which it improves."""
    found = []
    for method, other in itertools.combinations(comparison.methods, 2):
        pair = [comparison.strata(method), comparison.strata(other)]
        chance = bootstrap_many(pair, lambda drawn: probability_of_improvement(*drawn))
        if chance.value >= 0.5:
            found.append(Improvement(method.name, other.name, chance))
        else:
            turned = Interval(1.0 - chance.value, 1.0 - chance.high, 1.0 - chance.low)
            found.append(Improvement(other.name, method.name, turned))
    return sorted(found, key=lambda pair: -pair.probability.value)


def _summarize(comparison: Comparison, method: Method) -> MethodScores:
    return _aggregate(method.name, comparison.strata(method), target=comparison.target)


def _mean(strata: list[np.ndarray]) -> Interval:
    if len(strata) > 1:
        return bootstrap_interval(strata, lambda score: score.mean(axis=-1))
    mean = float(strata[0].mean())
    half_width = mean_half_width(strata[0].tolist())
    if half_width is None:
        return Interval(mean, math.nan, math.nan)
    return Interval(mean, mean - half_width, mean + half_width)


def _aggregate(name: str, strata: list[np.ndarray], *, target: float | None) -> MethodScores:
    values = np.concatenate(strata)
    gap = None
    if target is not None:
        gap = bootstrap_interval(strata, lambda score: optimality_gap(score, target=target))
    return MethodScores(
        name=name,
        n_runs=len(values),
        mean=_mean(strata),
        iqm=bootstrap_interval(strata, interquartile_mean),
        median=statistics.median(values.tolist()),
        gap=gap,
        lowest=float(values.min()),
        highest=float(values.max()),
    )
