"""The terms of REINFORCE as pure functions, one value per sample."""

from __future__ import annotations

from torch import Tensor


def policy_gradient_loss(*, logprob: Tensor, target: Tensor) -> Tensor:
    """Compute the loss whose gradient is the negative policy gradient.

    ``loss = -logprob * stop_gradient(target)``

    Williams 1992, "Simple Statistical Gradient-Following Algorithms", equation 11; Sutton and
    Barto 2018, equation 13.8 (without the factor gamma^t, as is usual in practice).

    Args:
        logprob: (B,) of the actions taken; gradients flow through it.
        target: (B,) returns or advantages; gradients are stopped here.

    Returns:
        (B,) float.
    """
    assert logprob.shape == target.shape, (logprob.shape, target.shape)
    return -logprob * target.detach()


def baseline_loss(*, value: Tensor, returns: Tensor) -> Tensor:
    """Compute the squared error of the baseline: ``(value - returns)^2``.

    Args:
        value: (B,) of the baseline; gradients flow through it.
        returns: (B,) Monte Carlo returns.

    Returns:
        (B,) float.
    """
    assert value.shape == returns.shape, (value.shape, returns.shape)
    return (value - returns).square()
