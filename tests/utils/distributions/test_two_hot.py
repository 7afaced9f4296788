from __future__ import annotations

import pytest
import torch

from utils.distributions.two_hot import exponential_bins, two_hot_loss, two_hot_mean
from utils.optimization.laprop import LaProp
from utils.world_models.heads import TwoHotHead

# symexp of -2, -1, 0, 1, 2: e - 1 = 1.7182818, e^2 - 1 = 6.3890561
FIVE_BINS = torch.tensor([-6.3890561, -1.7182818, 0.0, 1.7182818, 6.3890561])


def published_bins() -> torch.Tensor:
    return exponential_bins(255, limit=20.0)


def two_hot_of(target: torch.Tensor, bins: torch.Tensor) -> torch.Tensor:
    """Return the weights that the loss gives to each bin: the gradient is p - weights."""
    logits = torch.zeros(*target.shape, len(bins), requires_grad=True)
    two_hot_loss(logits, target, bins).sum().backward()
    weights = 1.0 / len(bins) - logits.grad
    return torch.where(weights.abs() < 1e-6, 0.0, weights)


def test_bins_by_hand() -> None:
    torch.testing.assert_close(exponential_bins(5, limit=2.0), FIVE_BINS)


def test_published_bins_rise_and_are_symmetric_to_the_last_bit() -> None:
    bins = published_bins()
    assert (bins.diff() > 0).all()
    assert torch.equal(bins, -bins.flip(0))
    assert bins[127] == 0.0
    # e^20 - 1
    torch.testing.assert_close(bins[-1], torch.tensor(485165194.4))


def test_loss_by_hand() -> None:
    # p = (1, 1, 2, 1, 1) / 6. 1 lies between the bins 0 and 1.7182818 at 1 / 1.7182818 = 0.5819767
    # (at ln 2 = 0.693 if it were measured in logarithms): 0.4180233 ln 3 + 0.5819767 ln 6
    # = 0.4592455 + 1.0427623 = 1.5020078. -1.7182818 is a bin: ln 6. 100 counts as the last: ln 6.
    logits = torch.tensor([1.0, 1.0, 2.0, 1.0, 1.0]).log().expand(4, 5)
    target = torch.tensor([1.0, -1.7182818, 100.0, 0.0])
    expected = torch.tensor([1.5020078, 1.7917595, 1.7917595, 1.0986123])
    torch.testing.assert_close(two_hot_loss(logits, target, FIVE_BINS), expected)


def test_mean_by_hand() -> None:
    # p = (1, 1, 1, 3, 1) / 7: (-6.389 - 1.718 + 3 * 1.718 + 6.389) / 7 = 2 * 1.7182818 / 7
    logits = torch.tensor([1.0, 1.0, 1.0, 3.0, 1.0]).log()
    torch.testing.assert_close(two_hot_mean(logits, FIVE_BINS), torch.tensor(0.4909377))


def test_what_is_taught_is_what_is_said() -> None:
    bins = published_bins()
    target = torch.tensor([-1e4, -1.0, 0.0, 0.3, 1.0, 1e4, 4e8])
    weights = two_hot_of(target, bins)
    torch.testing.assert_close(weights.sum(-1), torch.ones(7))
    assert ((weights != 0).sum(-1) <= 2).all()
    assert (weights >= 0).all()
    torch.testing.assert_close(weights @ bins, target, rtol=1e-3, atol=1e-6)
    # And through the mean: the logarithms of these weights are logits.
    said = two_hot_mean(weights.log(), bins)
    torch.testing.assert_close(said, target, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("target", [-1e12, 1e12])
def test_beyond_the_last_bin_a_number_counts_as_that_bin(target: float) -> None:
    bins = published_bins()
    weights = two_hot_of(torch.tensor([target]), bins)[0]
    expected = torch.zeros(255)
    expected[0 if target < 0 else -1] = 1.0
    torch.testing.assert_close(weights, expected)


def test_symmetric_distributions_mean_zero_exactly() -> None:
    half = torch.randn(64, 127, generator=torch.Generator().manual_seed(0))
    logits = torch.cat([half, torch.randn(64, 1), half.flip(-1)], dim=-1)
    assert (two_hot_mean(logits, published_bins()) == 0).all()
    assert (two_hot_mean(torch.zeros(3, 255), published_bins()) == 0).all()


def test_what_tells_opposite_bins_apart_by_rounding_alone_is_no_number() -> None:
    # Of 255 equal bins the last ones, worth 485,165,194 each: a logit that is higher by 1e-6 would
    # be worth 485165194 / 255 * 1e-6 = 1.9; one that is higher by 1e-4 is worth 190.
    logits, bins = torch.zeros(3, 255), published_bins()
    logits[0, -1] = logits[2, 3] = 1e-6
    logits[1, -1] = 1e-4
    said = two_hot_mean(logits, bins)
    torch.testing.assert_close(said, torch.tensor([0.0, 190.26, 0.0]), rtol=1e-3, atol=0.0)


def test_early_predictions_are_not_full_of_rounding() -> None:
    torch.manual_seed(0)
    head = TwoHotHead(128, width=128, n_layers=1, norm="rms", activation="silu")
    optimizer = LaProp(head.parameters(), lr=2e-4)
    direction = torch.randn(128) / 11
    for _ in range(200):
        features = torch.randn(256, 128)
        optimizer.zero_grad()
        head.loss(head(features), 0.3 + 0.2 * torch.tanh(features @ direction)).mean().backward()
        optimizer.step()
    features = torch.randn(1024, 128)
    with torch.no_grad():
        error = head.mean(head(features)) - 0.3 - 0.2 * torch.tanh(features @ direction)
    assert error.abs().max() < 0.8  # 4 where rounding counted


def test_no_gradient_reaches_the_target() -> None:
    target = torch.tensor([0.5], requires_grad=True)
    logits = torch.zeros(1, 5, requires_grad=True)
    two_hot_loss(logits, target, FIVE_BINS).sum().backward()
    assert target.grad is None
    assert logits.grad.abs().sum() > 0


def test_half_precision_logits_are_worked_out_in_float32() -> None:
    logits = torch.randn(8, 255, generator=torch.Generator().manual_seed(0)).bfloat16()
    target = torch.linspace(-3, 3, 8)
    bins = published_bins()
    loss = two_hot_loss(logits, target, bins)
    assert loss.dtype == two_hot_mean(logits, bins).dtype == torch.float32
    torch.testing.assert_close(loss, two_hot_loss(logits.float(), target, bins))
