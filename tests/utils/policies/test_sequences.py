from __future__ import annotations

import torch

from utils.policies import sequences_of


def test_sequences_of_unequal_length_by_hand() -> None:
    # rows 0 1 2 | 3 | 4 5, in a grid of 3 steps by 3 sequences, time-major
    is_start = torch.tensor([True, False, False, True, False, True])
    laid = sequences_of([3, 1, 2], state=torch.arange(6.0).view(3, 2), is_start=is_start)
    assert laid.cell_of_row.tolist() == [0, 3, 6, 1, 2, 5]
    grid = laid.row_of_cell.view(3, 3)
    assert grid[0].tolist() == [0, 3, 4]
    assert grid[1, [0, 2]].tolist() == [1, 5]
    assert grid[2, 0].item() == 2
    assert laid.is_start.tolist() == [
        [True, True, False],
        [False, False, True],
        [False, False, False],
    ]
    assert laid.row_of_cell[laid.cell_of_row].tolist() == [0, 1, 2, 3, 4, 5]
