from __future__ import annotations

import pytest
import torch

from utils.returns import standardize


def test_hand_computed_numbers() -> None:
    x = torch.tensor([1.0, 3.0, 8.0])
    # mean 4; deviations -3, -1, 4; variance (9 + 1 + 16) / 2 = 13; std 3.605551
    expected = torch.tensor([-0.832050, -0.277350, 1.109400])
    torch.testing.assert_close(standardize(x), expected, rtol=1e-5, atol=0)


def test_mean_and_spread_are_taken_over_all_dimensions() -> None:
    x = torch.randn(16, 4, generator=torch.Generator().manual_seed(1)) * 5 + torch.arange(4) * 3
    y = standardize(x)
    assert y.mean().item() == pytest.approx(0.0, abs=1e-6)
    assert y.std().item() == pytest.approx(1.0, rel=1e-6)
    assert (y.mean(0)[3] - y.mean(0)[0]).item() > 0.5


def test_scale_and_shift_of_the_input_do_not_matter() -> None:
    x = torch.randn(64, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(standardize(100 * x - 7), standardize(x), rtol=1e-4, atol=1e-5)


def test_the_sign_is_kept() -> None:
    y = standardize(torch.tensor([-1.0, 0.0, 5.0]))
    assert y[2] > 0 > y[0]


def test_a_single_sample_stays_as_it_is() -> None:
    assert torch.equal(standardize(torch.tensor([[3.0]])), torch.tensor([[3.0]]))


@pytest.mark.parametrize("value", [0.0, 0.1, 7.7, 100.1, -12345.6])
@pytest.mark.parametrize("n", [2, 7, 1000, 2048])
def test_equal_samples_become_zero_and_not_their_rounding_error(value: float, n: int) -> None:
    y = standardize(torch.full((n,), value))
    assert y.abs().max().item() < 1e-3


def test_a_part_of_a_batch_is_standardised_by_the_whole():
    # mean 3, deviation (n - 1) sqrt((4 + 0 + 4) / 2) = 2
    whole = torch.tensor([1.0, 3.0, 5.0])
    part = standardize(whole[1:], over=whole)
    torch.testing.assert_close(part, torch.tensor([0.0, 1.0]), rtol=1e-6, atol=0)
    assert torch.equal(standardize(whole[:1], over=whole), standardize(whole)[:1])
