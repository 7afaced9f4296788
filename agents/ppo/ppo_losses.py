"""The terms of PPO as pure functions, one value per sample."""

from __future__ import annotations

import torch
from torch import Tensor

# The update stops when the estimated KL passes this multiple of `target_kl`, as is usual.
KL_TOLERANCE = 1.5


def clipped_policy_loss(
    *, logprob: Tensor, old_logprob: Tensor, advantage: Tensor, clip_range: float
) -> Tensor:
    """Compute the negative clipped surrogate objective.

    ``ratio = exp(logprob - old_logprob)``
    ``loss = -min(ratio * advantage, clip(ratio, 1 - clip_range, 1 + clip_range) * advantage)``

    Schulman et al. 2017, "Proximal Policy Optimization Algorithms", equation 7.

    Args:
        logprob: (B,) under the policy that learns; gradients flow through it.
        old_logprob: (B,) under the policy that collected.
        advantage: (B,)
        clip_range: How far the ratio may leave 1, > 0.

    Returns:
        (B,) float.
    """
    assert logprob.shape == old_logprob.shape == advantage.shape, (
        logprob.shape,
        old_logprob.shape,
        advantage.shape,
    )
    ratio = (logprob - old_logprob).exp()
    clipped = ratio.clamp(1.0 - clip_range, 1.0 + clip_range)
    return -torch.minimum(ratio * advantage, clipped * advantage)


def value_loss(
    *, value: Tensor, old_value: Tensor, returns: Tensor, clip_range_vf: float | None
) -> Tensor:
    """Compute the squared error of the critic, clipped around the old value if asked.

    ``loss = (value - returns)^2``, or with a clip range
    ``loss = max((value - returns)^2, (clip(value, old_value +- clip_range_vf) - returns)^2)``

    Differs: the paper (equation 9) has no clipping; it is that of the authors' code. There is no
    factor of one half; `vf_coef` carries it.

    Args:
        value: (B,) of the critic that learns; gradients flow through it.
        old_value: (B,) of the critic that collected.
        returns: (B,) targets.
        clip_range_vf: How far the value may move from `old_value`, in units of the returns.

    Returns:
        (B,) float.
    """
    assert value.shape == old_value.shape == returns.shape, (
        value.shape,
        old_value.shape,
        returns.shape,
    )
    error = (value - returns).square()
    if clip_range_vf is None:
        return error
    clipped = old_value + (value - old_value).clamp(-clip_range_vf, clip_range_vf)
    return torch.maximum(error, (clipped - returns).square())


def clipped_policy_gradient(
    *, logprob: Tensor, old_logprob: Tensor, advantage: Tensor, clip_range: float
) -> tuple[Tensor, Tensor]:
    """Compute `clipped_policy_loss` and its derivative with respect to `logprob`.

    ``min(ratio * A, clip(ratio) * A) = min(ratio * A, bound)`` with ``bound = (1 + clip_range) A``
    for a positive advantage and ``(1 - clip_range) A`` for a negative one. Below the bound the
    derivative of the loss is ``-ratio * A``, beyond it 0.

    Args:
        logprob: (B,) under the policy that learns.
        old_logprob: (B,) under the policy that collected.
        advantage: (B,)
        clip_range: How far the ratio may leave 1, > 0.

    Returns:
        Loss (B,) and derivative (B,).
    """
    gain = (logprob - old_logprob).exp() * advantage
    bound = torch.where(
        advantage > 0, advantage * (1.0 + clip_range), advantage * (1.0 - clip_range)
    )
    derivative = torch.where(gain <= bound, -gain, 0.0)
    return -torch.minimum(gain, bound), derivative


def value_gradient(
    *, value: Tensor, old_value: Tensor, returns: Tensor, clip_range_vf: float | None
) -> tuple[Tensor, Tensor]:
    """Compute `value_loss` and its derivative with respect to `value`.

    ``2 (value - returns)``; with a clip range, where the clipped error is the larger one,
    ``2 (clipped - returns)`` inside the range and 0 outside.

    Args:
        value: (B,) of the critic that learns.
        old_value: (B,) of the critic that collected.
        returns: (B,) targets.
        clip_range_vf: How far the value may move from `old_value`, in units of the returns.

    Returns:
        Loss (B,) and derivative (B,).
    """
    error = value - returns
    if clip_range_vf is None:
        return error.square(), 2.0 * error
    move = value - old_value
    clipped_error = old_value + move.clamp(-clip_range_vf, clip_range_vf) - returns
    is_free = error.square() >= clipped_error.square()
    inside = torch.where(move.abs() <= clip_range_vf, 2.0 * clipped_error, 0.0)
    loss = torch.maximum(error.square(), clipped_error.square())
    return loss, torch.where(is_free, 2.0 * error, inside)


def approximate_kl(*, logprob: Tensor, old_logprob: Tensor) -> Tensor:
    """Estimate KL(old || new) for each sample without bias and with little variance.

    ``(ratio - 1) - log(ratio)``, never negative (Schulman 2020, "Approximating KL Divergence",
    estimator k3).

    Args:
        logprob: (B,) under the new policy.
        old_logprob: (B,) under the policy that drew the actions.

    Returns:
        (B,) float, nats.
    """
    log_ratio = logprob - old_logprob
    return torch.expm1(log_ratio) - log_ratio


def clipped_fraction(*, logprob: Tensor, old_logprob: Tensor, clip_range: float) -> Tensor:
    """Say for each sample whether its ratio left the clip range: (B,) float of 0 and 1."""
    ratio = (logprob - old_logprob).exp()
    return ((ratio - 1.0).abs() > clip_range).to(logprob.dtype)
