from __future__ import annotations

import pytest
import torch

from utils.rollouts.reshape import flatten_env_major


def test_all_of_one_environment_in_time_then_the_next() -> None:
    t, n = torch.meshgrid(torch.arange(3), torch.arange(2), indexing="ij")
    assert flatten_env_major(10 * n + t).tolist() == [0, 1, 2, 10, 11, 12]


def test_further_dimensions_stay() -> None:
    field = torch.arange(24).reshape(2, 3, 4)
    flat = flatten_env_major(field)
    assert flat.shape == (6, 4)
    # sample 3 is environment 1, step 1
    assert torch.equal(flat[3], field[1, 1])


def test_one_dimension_is_refused() -> None:
    with pytest.raises(AssertionError):
        flatten_env_major(torch.zeros(4))
