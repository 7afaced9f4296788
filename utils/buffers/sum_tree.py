"""A tree of sums, to draw indices in proportion to their weights."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import Tensor

from utils.buffers.place import Place
from utils.buffers.sum_tree_kernels import FAN_OUT

WIDE = 1024
"""Children of a node where tensor operations do the work: each level costs some of them, however
wide it is, and a million leaves have two levels."""


class SumTree:
    """Weights of n leaves and their sums, in float64.

    A parent is always the sum of its children, added up anew when one of them changes, so no error
    accumulates. The methods are tensor operations for any device, a few for each level, and read no
    number back. `utils.buffers.sum_tree_kernels` does the same in ordinary memory, compiled, with
    eight nodes to a parent.

    Attributes:
        nodes: float64, one level after another, leaves first.
        offsets: (n_levels,) int64, where each level begins.
    """

    def __init__(self, n_leaves: int, *, place: Place, fan_out: int = FAN_OUT) -> None:
        """Allocate the tree; all weights are 0.

        Args:
            n_leaves: Number of leaves.
            place: Where it lies.
            fan_out: Nodes to a parent; compiled code knows but one number.
        """
        self.n_leaves = n_leaves
        self._fan_out = fan_out
        sizes = level_sizes(n_leaves, fan_out)
        self.nodes = place.allocate((sum(sizes),), torch.float64)
        self.offsets = np.array([0, *itertools.accumulate(sizes)][: len(sizes)], dtype=np.int64)
        self._levels = self.nodes.split(sizes)
        # Ranks of children, all above 0: the earlier the higher and above those of the other, and
        # the later the higher.
        self._last_first = torch.arange(1, fan_out + 1, dtype=torch.int32, device=place.device)
        self._first_first = self._last_first.flip(0) + fan_out

    @property
    def leaves(self) -> Tensor:
        """(n_leaves,) float64 weights, a view."""
        return self._levels[0][: self.n_leaves]

    def total(self) -> Tensor:
        """Return the sum of all weights, () float64."""
        return self._levels[-1].cumsum(0)[-1]

    def fill(self, start: int, stop: int, weight: float | Tensor) -> None:
        """Set the leaves `start` to `stop` - 1 to one weight."""
        self.leaves[start:stop] = weight
        self.refresh(start, stop)

    def refresh(self, start: int, stop: int) -> None:
        """Add up what lies above the leaves `start` to `stop` - 1, after they were changed."""
        for children, parents in itertools.pairwise(self._levels):
            start, stop = start // self._fan_out, (stop - 1) // self._fan_out + 1
            below = children[start * self._fan_out : stop * self._fan_out].view(-1, self._fan_out)
            parents[start:stop] = below.cumsum(-1)[:, -1]

    def write(self, index: Tensor, weights: Tensor) -> None:
        """Set leaves; of several weights for one leaf the largest is taken.

        Args:
            index: (B,) int64
            weights: (B,) float64
        """
        # Assigning a number by an index would bring it from the host, which no graph can hold.
        self._levels[0].index_fill_(0, index, 0.0)
        self._levels[0].scatter_reduce_(0, index, weights, "amax")
        for below, parents in itertools.pairwise(self._levels):
            index = index // self._fan_out
            family = self._families(below, index)
            parents[index] = family.cumsum(-1)[:, -1]

    def find(self, mass: Tensor) -> Tensor:
        """Return the leaves in which partial sums lie.

        Args:
            mass: (B,) float64 in [0, total); leaf i covers [sum of those before it, + its weight).

        Returns:
            (B,) int64, leaves with weights above 0.
        """
        node: Tensor | int = 0
        for level in reversed(self._levels):
            family = self._families(level, node)
            sums = family.cumsum(-1)
            # The first child whose sum is above, else the last one: rounding may leave as much as
            # the whole node or more, and sums that many threads add up may fall from one child to
            # the next. What is found has weight in any case.
            rank = torch.where(sums > mass[:, None], self._first_first, self._last_first)
            k = (rank * (family > 0)).argmax(-1, keepdim=True)
            mass = mass - (sums - family).expand_as(rank).gather(1, k)[:, 0]
            node = node * self._fan_out + k[:, 0]
        assert isinstance(node, Tensor)
        return node

    def _families(self, level: Tensor, node: Tensor | int) -> Tensor:
        """Return the children of nodes (B,) of the level above, (B, fan-out); of one (fan-out,)."""
        return level.view(-1, self._fan_out)[node]


def level_sizes(n_leaves: int, fan_out: int = FAN_OUT) -> list[int]:
    """Return the number of nodes of each level, leaves first, each a multiple of the fan-out."""
    sizes = []
    n = n_leaves
    while True:
        sizes.append(-(-n // fan_out) * fan_out)
        if sizes[-1] == fan_out:
            return sizes
        n = sizes[-1] // fan_out


def tree_bytes(n_leaves: int) -> int:
    """Return the bytes of a tree: one float64 for each node; a wide one takes an eighth less."""
    return 8 * sum(level_sizes(n_leaves))
