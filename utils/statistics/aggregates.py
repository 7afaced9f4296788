"""Aggregates of the scores of several runs on one or several tasks.

The definitions are those of Agarwal et al. 2021, "Deep reinforcement learning at the edge of the
statistical precipice". Every function takes the last axis as that of the scores and keeps leading
axes, so that all resamples of a bootstrap are aggregated by one call.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def interquartile_mean(score: np.ndarray) -> np.ndarray:
    """Return the mean of the middle half of the scores of all runs and tasks.

    ``int(n / 4)`` scores are left out at either end, so of three or fewer runs it is the mean.

    Args:
        score: (..., n) float, n >= 1.

    Returns:
        (...) float64.
    """
    n = score.shape[-1]
    assert n >= 1, score.shape
    cut = n // 4
    ordered = np.sort(score, axis=-1)
    return ordered[..., cut : n - cut].mean(axis=-1)


def optimality_gap(score: np.ndarray, *, target: float) -> np.ndarray:
    """Return by how much the scores miss a target on average: ``mean(max(target - score, 0))``.

    What lies above the target makes up for nothing. Agarwal et al. 2021, section 4.3, write it as
    ``target - mean(min(score, target))``, which is the same.

    Args:
        score: (..., n) float.
        target: In the unit of the scores; 1 for normalised ones.

    Returns:
        (...) float64, >= 0.
    """
    return np.maximum(target - score, 0.0).mean(axis=-1)


def probability_of_improvement(
    score: Sequence[np.ndarray], other: Sequence[np.ndarray]
) -> np.ndarray:
    """Return how likely a run of one method beats a run of another, a tie counting half.

    Of each task it is the Mann-Whitney statistic, ``mean over pairs of [x > y] + [x = y] / 2``;
    tasks weigh alike.

    Args:
        score: For each task the scores (..., n) of the one method.
        other: For each task the scores (..., m) of the other; n and m may differ.

    Returns:
        (...) float64 in [0, 1].
    """
    assert len(score) == len(other) >= 1, (len(score), len(other))
    shares = []
    for x, y in zip(score, other, strict=True):
        left, right = x[..., :, None], y[..., None, :]
        wins = (left > right).mean(axis=(-2, -1))
        ties = (left == right).mean(axis=(-2, -1))
        shares.append(wins + 0.5 * ties)
    return np.mean(shares, axis=0)


def performance_profile(score: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the share of runs that score more than each threshold.

    Args:
        score: (..., n) float.
        thresholds: (P,) float.

    Returns:
        (..., P) float64 in [0, 1].
    """
    return (score[..., None, :] > thresholds[:, None]).mean(axis=-1)
