"""Equal parts of a batch, side by side."""

import pytest
import torch

from utils.distributed import Part


def test_parts_side_by_side_are_the_batch():
    rows = torch.arange(24).view(2, 6, 2)
    parts = [Part(rank, 3) for rank in range(3)]
    assert [part.whole(2) for part in parts] == [6, 6, 6]
    assert torch.equal(torch.cat([part.own(rows, dim=1) for part in parts], dim=1), rows)


def test_one_process_has_all():
    rows = torch.arange(3)
    assert Part().whole(3) == 3
    assert Part().own(rows).data_ptr() == rows.data_ptr()


def test_rows_without_equal_parts_are_a_mistake():
    with pytest.raises(AssertionError):
        Part(0, 2).own(torch.arange(3))
