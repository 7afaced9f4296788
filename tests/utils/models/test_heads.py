from __future__ import annotations

import torch

from utils.models import NormalHead


def test_normal_head_gives_mean_and_a_spread_that_no_state_changes() -> None:
    head = NormalHead(4, 2, gain=0.01, log_std_init=-0.5)
    mean, log_std = head(torch.zeros(3, 4))
    assert torch.equal(mean, torch.zeros(3, 2))
    assert log_std.tolist() == [-0.5, -0.5]
    assert torch.equal(head(torch.ones(3, 4))[1], log_std)
    assert "log_std" in dict(head.named_parameters())


def test_gradient_reaches_the_spread() -> None:
    head = NormalHead(4, 2, gain=None, log_std_init=0.0)
    head(torch.ones(1, 4))[1].exp().sum().backward()
    assert torch.equal(head.log_std.grad, torch.ones(2))
