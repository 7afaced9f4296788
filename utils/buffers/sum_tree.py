"""A tree of sums, to draw indices in proportion to their weights."""

from __future__ import annotations

FAN_OUT = 16


def level_sizes(n_leaves: int) -> list[int]:
    """Return the number of nodes of each level, leaves first, each a multiple of the fan-out."""
    sizes = []
    n = n_leaves
    while True:
        sizes.append(-(-n // FAN_OUT) * FAN_OUT)
        if sizes[-1] == FAN_OUT:
            return sizes
        n = sizes[-1] // FAN_OUT


def tree_bytes(n_leaves: int) -> int:
    """Return the bytes of a tree: one float64 for each node."""
    return 8 * sum(level_sizes(n_leaves))
