"""A tree of sums, to draw indices in proportion to their weights."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import Tensor

from utils.buffers.place import Place
from utils.buffers.sum_tree_kernels import FAN_OUT


class SumTree:
    """Weights of n leaves and their sums, eight nodes to a parent, in float64.

    A parent is always the sum of its children, added up anew when one of them changes, so no error
    accumulates. The methods are tensor operations for any device, a few for each level, and read no
    number back. `utils.buffers.sum_tree_kernels` does the same in ordinary memory, compiled.

    Attributes:
        nodes: float64, one level after another, leaves first.
        offsets: (n_levels,) int64, where each level begins.
    """

    def __init__(self, n_leaves: int, *, place: Place) -> None:
        """Allocate the tree; all weights are 0.

        Args:
            n_leaves: Number of leaves.
            place: Where it lies.
        """
        self.n_leaves = n_leaves
        sizes = level_sizes(n_leaves)
        self.nodes = place.allocate((sum(sizes),), torch.float64)
        self.offsets = np.array([0, *itertools.accumulate(sizes)][: len(sizes)], dtype=np.int64)
        self._levels = self.nodes.split(sizes)
        self._children = torch.arange(FAN_OUT, device=place.device)

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
            start, stop = start // FAN_OUT, (stop - 1) // FAN_OUT + 1
            below = children[start * FAN_OUT : stop * FAN_OUT].view(-1, FAN_OUT)
            parents[start:stop] = below.cumsum(-1)[:, -1]

    def write(self, index: Tensor, weights: Tensor) -> None:
        """Set leaves; of several weights for one leaf the largest is taken.

        Args:
            index: (B,) int64
            weights: (B,) float64
        """
        self._levels[0][index] = 0.0
        self._levels[0].scatter_reduce_(0, index, weights, "amax")
        for below, parents in itertools.pairwise(self._levels):
            index = index // FAN_OUT
            family = below[index[:, None] * FAN_OUT + self._children]
            parents[index] = family.cumsum(-1)[:, -1]

    def find(self, mass: Tensor) -> Tensor:
        """Return the leaves in which partial sums lie.

        Args:
            mass: (B,) float64 in [0, total); leaf i covers [sum of those before it, + its weight).

        Returns:
            (B,) int64, leaves with weights above 0.
        """
        node = torch.zeros(len(mass), dtype=torch.int64, device=mass.device)
        nothing = torch.zeros((), dtype=torch.float64, device=mass.device)
        for level in reversed(self._levels):
            sums = level[node[:, None] * FAN_OUT + self._children].cumsum(-1)
            # Rounding may leave as much as the whole node or more.
            left = torch.minimum(mass, torch.nextafter(sums[:, -1], nothing))
            k = (sums <= left[:, None]).sum(-1)
            before = sums.gather(1, (k - 1).clamp(min=0)[:, None])[:, 0]
            mass = left - torch.where(k > 0, before, nothing)
            node = node * FAN_OUT + k
        return node


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
