"""Compiled prioritised sampling; `PriorityIndex` has the equations."""

from __future__ import annotations

import numpy as np

from gym_envs.numba_settings import njit
from utils.buffers.sum_tree_kernels import FAN_OUT, find_leaves, write_leaves


@njit(cache=True, nogil=True)
def find_total(nodes, offsets):
    """Return the sum of all weights; see `refresh_range` for the arguments."""
    total = 0.0
    for i in range(FAN_OUT):
        total += nodes[offsets[-1] + i]
    return total


@njit(cache=True, nogil=True)
def draw_places(nodes, offsets, uniform):
    """Draw one place from each of B ranges of equal mass.

    Args:
        nodes: See `refresh_range`.
        offsets: See `refresh_range`.
        uniform: (B,) float64 in [0, 1).

    Returns:
        (B,) int64
    """
    n = len(uniform)
    step = find_total(nodes, offsets) / n
    mass = np.empty(n)
    for b in range(n):
        mass[b] = (b + uniform[b]) * step
    return find_leaves(nodes, offsets, mass)


@njit(cache=True, nogil=True)
def weigh_places(nodes, offsets, index, n_places, n, beta, weights):
    """Write importance weights.

    Args:
        nodes: See `refresh_range`.
        offsets: See `refresh_range`.
        index: (B,) int64, places or names of what lies there: the place is the rest modulo that.
        n_places: Number of places.
        n: How many of them can be drawn.
        beta: In [0, 1].
        weights: (B,) float32 is written.
    """
    total = find_total(nodes, offsets)
    exact = np.empty(len(index))
    for b in range(len(index)):
        exact[b] = (n * (nodes[index[b] % n_places] / total)) ** -beta
    weights[:] = exact / exact.max()


@njit(cache=True, nogil=True)
def update_places(nodes, offsets, index, oldest, n_places, errors, settings, highest):
    """Take in how wrong the learner was.

    Args:
        nodes: See `refresh_range`.
        offsets: See `refresh_range`.
        index: (B,) int64, see `weigh_places`.
        oldest: Those below are not held any more.
        n_places: Number of places.
        errors: (B,) float64, passed over where they are not finite.
        settings: (2,) float64, exponent and what is added to each error's size.
        highest: () float64 is raised.
    """
    alpha, least_priority = settings
    leaves = np.empty(len(index), np.int64)
    weights = np.empty(len(index))
    n = 0
    for b in range(len(index)):
        priority = abs(errors[b]) + least_priority
        if index[b] >= oldest and priority < np.inf:
            highest[()] = max(highest[()], priority)
            leaves[n], weights[n] = index[b] % n_places, priority**alpha
            n += 1
    write_leaves(nodes, offsets, leaves[:n], weights[:n])
