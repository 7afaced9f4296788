"""Where the rows of a flat batch lie in time: what a memory needs to read them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Sequences(NamedTuple):
    """S stretches of time of at most L steps, as a grid of cells over a flat batch of B rows.

    Sequences that are shorter than the longest are filled up with cells that nothing reads.
    """

    state: Tensor
    """(S, state_dim) of the memory before each sequence's first row."""
    is_start: Tensor
    """(L, S) bool, the row is the first of an episode: the memory is empty before it."""
    row_of_cell: Tensor
    """(L * S,) int64, which row of the batch each cell reads, time-major."""
    cell_of_row: Tensor
    """(B,) int64, in which cell each row of the batch lies."""


def sequences_of(lengths: Sequence[int], *, state: Tensor, is_start: Tensor) -> Sequences:
    """Lay out sequences that follow one another in a flat batch.

    Args:
        lengths: Rows of each of the S sequences; they add up to B.
        state: (S, state_dim)
        is_start: (B,) bool, the row is the first of an episode.
    """
    device = is_start.device
    count = torch.tensor(lengths, device=device)
    first = count.cumsum(0) - count
    longest = max(lengths)
    step = torch.arange(longest, device=device).unsqueeze(1)
    is_used = step < count
    row = torch.where(is_used, first + step, 0).flatten()
    sequence = torch.repeat_interleave(torch.arange(len(lengths), device=device), count)
    cell = (torch.arange(len(is_start), device=device) - first[sequence]) * len(lengths) + sequence
    starts = is_start[row].view(longest, len(lengths)) & is_used
    return Sequences(state, starts, row, cell)
