"""The running return of the bonus, by hand."""

from __future__ import annotations

import pytest
import torch

from utils.exploration import IntrinsicRewardScale


def test_divides_by_the_deviation_of_the_running_return() -> None:
    scale = IntrinsicRewardScale(2)
    bonus = torch.tensor([[1.0, 0.0], [2.0, 4.0]])
    scale.update(bonus, torch.zeros(2, 2, dtype=torch.bool), gamma=0.5)
    # Returns: 1, 0 and then 0.5 * 1 + 2 = 2.5, 4: mean 1.875,
    # variance (0.765625 + 3.515625 + 0.390625 + 4.515625) / 4 = 2.296875, deviation 1.515544
    assert scale(torch.tensor([3.0])).item() == pytest.approx(3.0 / 1.515544, rel=1e-5)
    assert scale.running_return.tolist() == [2.5, 4.0]


def test_a_return_that_ends_starts_again() -> None:
    scale = IntrinsicRewardScale(1)
    ends = torch.tensor([[True], [False]])
    scale.update(torch.tensor([[1.0], [2.0]]), ends, gamma=0.5)
    assert scale.running_return.tolist() == [2.0]  # not 2.5


def test_the_return_goes_on_in_the_next_rollout() -> None:
    whole, parts = IntrinsicRewardScale(3), IntrinsicRewardScale(3)
    bonus = torch.rand(6, 3, generator=torch.Generator().manual_seed(0))
    ends = torch.zeros(6, 3, dtype=torch.bool)
    whole.update(bonus, ends, gamma=0.9)
    parts.update(bonus[:2], ends[:2], gamma=0.9)
    parts.update(bonus[2:], ends[2:], gamma=0.9)
    assert torch.equal(whole.running_return, parts.running_return)
    torch.testing.assert_close(whole.moments.var, parts.moments.var)
