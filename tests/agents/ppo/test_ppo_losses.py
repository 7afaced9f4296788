from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from agents.ppo.ppo_losses import (
    approximate_kl,
    clipped_fraction,
    clipped_policy_loss,
    value_loss,
)
from utils.returns import standardize

# One sample for each side of the clip range 0.2 with each sign of the advantage, and one inside.
RATIO = torch.tensor([1.5, 0.5, 1.5, 0.5, 1.1])
ADVANTAGE = torch.tensor([2.0, 2.0, -1.0, -1.0, 3.0])
OLD_LOGPROB = torch.tensor([-1.0, -0.5, -2.0, -0.1, -3.0])


def assert_equal(actual: Tensor, expected: list[float]) -> None:
    torch.testing.assert_close(actual, torch.tensor(expected), rtol=1e-5, atol=1e-6)


def test_policy_loss_takes_the_lower_of_both_objectives() -> None:
    loss = clipped_policy_loss(
        logprob=OLD_LOGPROB + RATIO.log(),
        old_logprob=OLD_LOGPROB,
        advantage=ADVANTAGE,
        clip_range=0.2,
    )
    # -min(1.5 * 2, 1.2 * 2) = -2.4        the ratio is too high already
    # -min(0.5 * 2, 0.8 * 2) = -1.0        it may come back
    # -min(1.5 * -1, 1.2 * -1) = 1.5       it may come back
    # -min(0.5 * -1, 0.8 * -1) = 0.8       it is too low already
    # -min(1.1 * 3, 1.1 * 3) = -3.3
    assert_equal(loss, [-2.4, -1.0, 1.5, 0.8, -3.3])


def test_policy_loss_has_no_gradient_where_the_clip_holds() -> None:
    logprob = (OLD_LOGPROB + RATIO.log()).requires_grad_()
    loss = clipped_policy_loss(
        logprob=logprob, old_logprob=OLD_LOGPROB, advantage=ADVANTAGE, clip_range=0.2
    )
    loss.sum().backward()
    # d(-ratio * A) / d logprob = -ratio * A, or 0 where the clipped term is the lower one
    assert_equal(logprob.grad, [0.0, -1.0, 1.5, 0.0, -3.3])


def test_policy_loss_starts_as_the_policy_gradient() -> None:
    logprob = OLD_LOGPROB.clone().requires_grad_()
    loss = clipped_policy_loss(
        logprob=logprob, old_logprob=OLD_LOGPROB, advantage=ADVANTAGE, clip_range=0.2
    )
    loss.sum().backward()
    assert_equal(loss, (-ADVANTAGE).tolist())
    assert_equal(logprob.grad, (-ADVANTAGE).tolist())


def test_policy_loss_does_not_see_scale_and_shift_of_standardized_advantages() -> None:
    arguments = {
        "logprob": OLD_LOGPROB + RATIO.log(),
        "old_logprob": OLD_LOGPROB,
        "clip_range": 0.2,
    }
    loss = clipped_policy_loss(advantage=standardize(ADVANTAGE), **arguments)
    moved = clipped_policy_loss(advantage=standardize(50 * ADVANTAGE + 9), **arguments)
    torch.testing.assert_close(moved, loss, rtol=1e-4, atol=1e-6)


def test_value_loss_is_the_squared_error() -> None:
    loss = value_loss(
        value=torch.tensor([3.0, -1.0, 0.5]),
        old_value=torch.tensor([9.0, 9.0, 9.0]),
        returns=torch.tensor([1.0, 2.0, 0.5]),
        clip_range_vf=None,
    )
    # 2^2;  (-3)^2;  0. No factor of one half.
    assert_equal(loss, [4.0, 9.0, 0.0])


def test_clipped_value_loss_takes_the_greater_error() -> None:
    value = torch.tensor([3.0, 3.0, 0.2, -1.0, 1.2], requires_grad=True)
    returns = torch.tensor([2.0, 4.0, 2.0, -3.0, 0.0])
    loss = value_loss(value=value, old_value=torch.ones(5), returns=returns, clip_range_vf=0.5)
    # value 3 -> 1.5: max((3 - 2)^2, (1.5 - 2)^2) = max(1, 0.25) = 1
    # value 3 -> 1.5: max((3 - 4)^2, (1.5 - 4)^2) = max(1, 6.25) = 6.25
    # value 0.2 -> 0.5: max((0.2 - 2)^2, (0.5 - 2)^2) = max(3.24, 2.25) = 3.24
    # value -1 -> 0.5: max((-1 + 3)^2, (0.5 + 3)^2) = max(4, 12.25) = 12.25
    # value 1.2 stays: 1.2^2 = 1.44
    assert_equal(loss, [1.0, 6.25, 3.24, 12.25, 1.44])
    loss.sum().backward()
    # 2 * (value - returns), 0 where the clipped value is the one that counts
    assert_equal(value.grad[:4], [2.0, 0.0, -3.6, 0.0])
    assert value.grad[4].item() == pytest.approx(2.4)


def test_approximate_kl_by_hand() -> None:
    kl = approximate_kl(logprob=torch.tensor([2.0, 0.5, 1.0]).log(), old_logprob=torch.zeros(3))
    # (2 - 1) - log 2 = 0.306853;  (0.5 - 1) + log 2 = 0.193147;  0
    assert_equal(kl, [0.306853, 0.193147, 0.0])


def test_approximate_kl_is_exact_on_average() -> None:
    old, new = torch.tensor([0.7, 0.3]), torch.tensor([0.4, 0.6])
    kl = (old * approximate_kl(logprob=new.log(), old_logprob=old.log())).sum()
    # KL(old || new) = 0.7 log(0.7 / 0.4) + 0.3 log(0.3 / 0.6) = 0.391731 - 0.207944
    assert kl.item() == pytest.approx(0.183787, rel=1e-5)
    assert kl.item() != pytest.approx(
        0.4 * math.log(0.4 / 0.7) + 0.6 * math.log(0.6 / 0.3), rel=1e-2
    )


def test_approximate_kl_keeps_small_differences() -> None:
    kl = approximate_kl(logprob=torch.tensor([0.01]), old_logprob=torch.zeros(1))
    # 0.01^2 / 2 + 0.01^3 / 6; exp(x) - 1 in float32 is off by a tenth of a per cent
    assert kl.item() == pytest.approx(5.016708e-5, rel=1e-4)


def test_clipped_fraction_counts_ratios_outside_on_both_sides() -> None:
    ratio = torch.tensor([1.25, 0.75, 1.1, 0.95, 1.0])
    outside = clipped_fraction(
        logprob=OLD_LOGPROB + ratio.log(), old_logprob=OLD_LOGPROB, clip_range=0.2
    )
    assert_equal(outside, [1.0, 1.0, 0.0, 0.0, 0.0])


def test_shapes_must_agree() -> None:
    with pytest.raises(AssertionError):
        clipped_policy_loss(
            logprob=torch.zeros(3, 1),
            old_logprob=torch.zeros(3),
            advantage=torch.zeros(3),
            clip_range=0.2,
        )
    with pytest.raises(AssertionError):
        value_loss(
            value=torch.zeros(3, 1),
            old_value=torch.zeros(3),
            returns=torch.zeros(3),
            clip_range_vf=None,
        )
