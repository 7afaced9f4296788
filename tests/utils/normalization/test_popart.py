"""PopArt: moments, outputs that stay, gradients in normalised units; numbers worked out by hand."""

from __future__ import annotations

import pytest
import torch

from utils.normalization.popart import SMALLEST_SCALE, PopArtHead


def make_head(weight: list[float], bias: float) -> PopArtHead:
    head = PopArtHead(len(weight), gain=None)
    with torch.no_grad():
        head.linear.weight.copy_(torch.tensor([weight]))
        head.linear.bias.fill_(bias)
    return head


def test_before_any_return_it_is_the_linear_layer() -> None:
    head = make_head([2.0, -1.0], 0.5)
    # 2 * 3 - 1 * 4 + 0.5
    assert head(torch.tensor([[3.0, 4.0]])).item() == pytest.approx(2.5)


def test_moments_follow_the_returns() -> None:
    head = make_head([2.0], 1.0)
    head.update(torch.tensor([[1.0], [3.0]]), beta=0.1)
    # m1 = 0.1 * 2 = 0.2, m2 = 0.1 * (1 + 9) / 2 = 0.5, weight 0.1:
    # mean 2, variance 5 - 4 = 1; the layer stays, V = 1 * (2 h + 1) + 2
    assert head.shift.item() == pytest.approx(2.0)
    assert head.scale.item() == pytest.approx(1.0)
    assert head(torch.tensor([[3.0]])).item() == pytest.approx(9.0)
    head.update(torch.tensor([10.0]), beta=0.1)
    # m1 = 0.9 * 0.2 + 1 = 1.18, m2 = 0.9 * 0.5 + 10 = 10.45, weight 0.9 * 0.1 + 0.1 = 0.19:
    # mean 6.2105, variance 55 - 38.5706 = 16.4294, deviation 4.05332
    # W' = 2 * 1 / 4.05332 = 0.493422, b' = (1 * 1 + 2 - 6.2105) / 4.05332 = -0.792073
    assert head.shift.item() == pytest.approx(6.210526, rel=1e-5)
    assert head.scale.item() == pytest.approx(4.053323, rel=1e-5)
    assert head.linear.weight.item() == pytest.approx(0.493422, rel=1e-5)
    assert head.linear.bias.item() == pytest.approx(-0.792073, rel=1e-5)
    assert head(torch.tensor([[3.0]])).item() == pytest.approx(9.0)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_outputs_stay_whatever_the_returns(size: float) -> None:
    torch.manual_seed(0)
    head = PopArtHead(8, gain=1.0)
    features = torch.randn(64, 8)
    head.update(size * torch.randn(100), beta=0.1)
    for _ in range(20):
        before = head(features).detach()
        head.update(size * (3.0 * torch.randn(50) + 2.0), beta=0.3)
        after = head(features)
        # Relative to the scale of the values: float32 holds seven digits.
        assert ((after - before).abs().max() / head.scale).item() < 1e-6


def test_equal_returns_give_the_smallest_scale() -> None:
    head = make_head([1.0], 0.0)
    head.update(torch.full((8,), 3.0), beta=0.5)
    assert head.scale.item() == pytest.approx(SMALLEST_SCALE)
    assert head.shift.item() == pytest.approx(3.0)
    assert head(torch.tensor([[0.25]])).item() == pytest.approx(3.0 + 0.25 * SMALLEST_SCALE)


def test_saved_numbers_travel_with_the_weights() -> None:
    head, other = make_head([2.0], 1.0), make_head([0.0], 0.0)
    head.update(torch.tensor([1.0, 3.0, 8.0]), beta=0.2)
    other.load_state_dict(head.state_dict())
    features = torch.tensor([[0.7], [-2.0]])
    assert torch.equal(head(features), other(features))
    for one in (head, other):
        one.update(torch.tensor([5.0, -2.0]), beta=0.2)
    assert torch.equal(head(features), other(features))
    assert torch.equal(head.linear.weight, other.linear.weight)
