from __future__ import annotations

import torch

from utils.normalization.percentile_scale import PercentileScale


def test_moving_averages_by_hand() -> None:
    # 0 to 100: the 5th percentile is 5, the 95th 95. From 0 by a hundredth: 0.05 and 0.95, 0.9
    # apart, which counts as 1. Again: 0.99 * 0.05 + 0.05 = 0.0995 and 0.99 * 0.95 + 0.95 = 1.8905.
    scale = PercentileScale()
    returns = torch.arange(101.0)[torch.randperm(101)]
    assert scale.scale() == 1.0
    scale.update(returns)
    torch.testing.assert_close(scale.percentiles, torch.tensor([0.05, 0.95]))
    assert scale.scale() == 1.0
    scale.update(returns.view(101, 1))
    torch.testing.assert_close(scale.percentiles, torch.tensor([0.0995, 1.8905]))
    torch.testing.assert_close(scale.scale(), torch.tensor(1.791))


def test_outliers_are_no_measure() -> None:
    returns = torch.zeros(1000)
    returns[:40] = 1e9
    scale = PercentileScale(rate=1.0)
    scale.update(returns)
    assert scale.scale() == 1.0


def test_it_is_saved_with_the_weights_and_gets_no_gradient() -> None:
    scale = PercentileScale(rate=0.5)
    scale.update(torch.linspace(-100, 100, 201, requires_grad=True))
    # half of 90 from -90
    torch.testing.assert_close(scale.scale(), torch.tensor(90.0))
    assert not scale.scale().requires_grad
    other = PercentileScale(rate=0.5)
    other.load_state_dict(scale.state_dict())
    assert other.scale() == scale.scale()
    assert list(scale.state_dict()) == ["percentiles"]
