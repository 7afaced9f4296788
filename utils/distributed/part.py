"""Which rows of a batch belong to one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Part:
    """One of `size` equal parts, side by side, of every batch."""

    rank: int = 0
    size: int = 1

    def whole(self, n: int) -> int:
        """Return how many rows a batch has of which this process has n."""
        return n * self.size

    def own(self, rows: Tensor, *, dim: int = 0) -> Tensor:
        """Return this process's rows of those of all.

        What is drawn for all rows by generators that are alike in all processes, and then cut by
        this, is what one process alone would have drawn.
        """
        n = rows.shape[dim] // self.size
        assert n * self.size == rows.shape[dim], (rows.shape, dim, self)
        return rows.narrow(dim, self.rank * n, n).contiguous()
