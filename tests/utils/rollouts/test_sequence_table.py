from __future__ import annotations

import torch

from utils.rollouts.sequence_table import cut_by_episodes, cut_evenly

CPU = torch.device("cpu")


def test_stretches_of_two_environments_by_hand() -> None:
    # T = 4, N = 2; samples 0..3 are environment 0, 4..7 environment 1; stretches of 2
    done = torch.zeros(4, 2, dtype=torch.bool)
    done[0, 0] = done[1, 1] = True
    state = torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]])
    table = cut_evenly(state=state, done=done, length=2, device=CPU)
    assert len(table) == 4
    samples, laid = table.pick(torch.tensor([3, 0]))
    assert samples.tolist() == [6, 7, 0, 1]
    assert laid.state.tolist() == [[4.0], [1.0]]
    # step 1 of environment 0 follows an end; so does step 2 of environment 1, a stretch's first
    assert laid.is_start.tolist() == [[True, False], [False, True]]
    everything = table.everything()
    assert everything.state.tolist() == [[1.0], [3.0], [2.0], [4.0]]
    assert everything.row_of_cell.view(2, 4).tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_episodes_of_unequal_length_by_hand() -> None:
    # environment 0: episodes of 1 and 2 steps; environment 1: one of 2, then it waits
    done = torch.tensor([[True, False], [False, True], [True, False]])
    is_valid = torch.tensor([[True, True], [True, True], [True, False]])
    table = cut_by_episodes(state_dim=2, done=done, is_valid=is_valid, device=CPU)
    everything = table.everything()
    assert len(table) == 3
    assert everything.is_start.tolist() == [[True] * 3, [False] * 3]
    assert everything.state.tolist() == [[0.0, 0.0]] * 3
    assert everything.row_of_cell[everything.cell_of_row].tolist() == list(range(5))
    samples, _ = table.pick(torch.tensor([2, 1]))
    assert samples.tolist() == [3, 4, 1, 2]
