"""Compiled work on a tree of sums that lies in one array."""

from __future__ import annotations

import numpy as np

from gym_envs.numba_settings import njit
from utils.buffers.row_kernels import prefetch

FAN_OUT = 8
"""Children of a node: as float64 they fill one line of the cache."""
_NODE_BYTES = 8


@njit(cache=True, nogil=True)
def _add_up(nodes, start):
    total = 0.0
    for i in range(FAN_OUT):
        total += nodes[np.uint64(start + i)]
    return total


@njit(cache=True, nogil=True)
def refresh_range(nodes, offsets, start, stop):
    """Add up what lies above the leaves `start` to `stop` - 1.

    Args:
        nodes: float64, one level after another, leaves first.
        offsets: (n_levels,) int64, where each level begins.
        start: First leaf that changed.
        stop: Leaf after the last that changed.
    """
    for level in range(len(offsets) - 1):
        start, stop = start // FAN_OUT, (stop - 1) // FAN_OUT + 1
        for i in range(start, stop):
            nodes[offsets[level + 1] + i] = _add_up(nodes, offsets[level] + i * FAN_OUT)


@njit(cache=True, nogil=True)
def fill_range(nodes, offsets, start, stop, weight):
    """Set the leaves `start` to `stop` - 1 to one weight; see `refresh_range`."""
    nodes[start:stop] = weight
    refresh_range(nodes, offsets, start, stop)


@njit(cache=True, nogil=True)
def write_leaves(nodes, offsets, index, weights):
    """Set leaves; of several weights for one leaf the largest is taken.

    Args:
        nodes: See `refresh_range`.
        offsets: See `refresh_range`.
        index: (B,) int64 leaves.
        weights: (B,) float64
    """
    for leaf in index:
        nodes[leaf] = 0.0
    for b in range(len(index)):
        nodes[index[b]] = max(nodes[index[b]], weights[b])
    below = index.copy()
    for level in range(len(offsets) - 1):
        for b in range(len(below)):
            below[b] //= FAN_OUT
            node = below[b]
            # Neighbours in a batch often share parents, near the root all do.
            if b == 0 or node != below[b - 1]:
                nodes[offsets[level + 1] + node] = _add_up(nodes, offsets[level] + node * FAN_OUT)


@njit(cache=True, nogil=True)
def find_leaves(nodes, offsets, mass):
    """Find the leaf in which each of some partial sums lies.

    Args:
        nodes: See `refresh_range`.
        offsets: See `refresh_range`.
        mass: (B,) float64 in [0, total).

    Returns:
        (B,) int64 leaves, each with a weight above 0.
    """
    found = np.zeros(len(mass), np.int64)
    rest = mass.copy()
    for level in range(len(offsets) - 1, -1, -1):
        for b in range(len(rest)):
            start = offsets[level] + found[b] * FAN_OUT
            k, before = _find_child(nodes, start, rest[b])
            if k == FAN_OUT:  # rounding left as much as the whole node, or more
                rest[b] = np.nextafter(before, 0.0)
                k, before = _find_child(nodes, start, rest[b])
            rest[b] -= before
            found[b] = found[b] * FAN_OUT + k
            if level > 0:
                children = offsets[level - 1] + found[b] * FAN_OUT
                prefetch(nodes.ctypes.data + children * _NODE_BYTES)
    return found


@njit(cache=True, nogil=True)
def _find_child(nodes, start, left):
    """Return the child in which a partial sum lies, and the sum of those before it."""
    before, total = 0.0, 0.0
    k = 0
    # No branch: where to stop cannot be predicted, and many of these run side by side.
    for i in range(FAN_OUT):
        total += nodes[np.uint64(start + i)]
        is_before = total <= left
        before = total if is_before else before
        k += is_before
    return k, before
