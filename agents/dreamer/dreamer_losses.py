"""The terms of the three Dreamers as pure functions, one value per state.

Equations are those of Hafner et al. 2025, "Mastering diverse control tasks through world models",
unless another paper is named.
"""

from __future__ import annotations

import torch
from torch import Tensor

from utils.world_models.returns import lambda_returns


def continue_target(terminated: Tensor, *, gamma: float, discounted: bool) -> Tensor:
    """Return what the probability that an episode goes on shall become, of the same shape.

    ``(1 - terminated)``, and times gamma where the discount is learnt with it. An episode that was
    only cut off goes on.

    Args:
        terminated: (...) bool
        gamma: Discount of one step.
        discounted: Whether the discount is learnt with it.
    """
    return (~terminated).float() * (gamma if discounted else 1.0)


def dream_weight(goes_on: Tensor) -> Tensor:
    """Return how likely each state of a dream is still reached, (H, N).

    ``w[t] = goes_on[0] * ... * goes_on[t]``: also the state that a dream begins with may be an end.

    Args:
        goes_on: (H + 1, N) discount of each state; its episode may have ended there.
    """
    return goes_on.detach().cumprod(dim=0)[:-1]


def dream_returns(*, reward: Tensor, goes_on: Tensor, value: Tensor, trace: float) -> Tensor:
    """Compute the returns of a dream, equation 4, (H, N).

    Args:
        reward: (H + 1, N) that arrives with each state; the first is not read.
        goes_on: (H + 1, N) discount of each state.
        value: (H + 1, N) of each state.
        trace: lambda.
    """
    return lambda_returns(
        reward=reward[1:], discount=goes_on[1:], next_value=value[1:], trace=trace
    )


def replay_returns(
    *,
    reward: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    bootstrap: Tensor,
    gamma: float,
    trace: float,
) -> Tensor:
    """Compute the returns of what really happened, (T - 1, B).

    Rewards and ends are those of the replayed steps; what follows a step is valued by the return of
    a dream from there.

    Args:
        reward: (T, B) that arrives with each step; the first is not read.
        terminated: (T, B) bool, the MDP ended there.
        truncated: (T, B) bool, the episode was cut off there: it is valued, and nothing follows.
        bootstrap: (T, B) first return of a dream from each step.
        gamma: Discount of one step.
        trace: lambda.
    """
    discount = (~terminated[1:]).float() * gamma
    traces = (~(terminated | truncated)[1:]).float() * trace
    return lambda_returns(
        reward=reward[1:], discount=discount, next_value=bootstrap[1:], trace=traces
    )


def reinforce_loss(
    *, logprob: Tensor, entropy: Tensor, advantage: Tensor, weight: Tensor, ent_coef: float
) -> Tensor:
    """Return ``-w (log pi(a) sg(A) + ent_coef * entropy)``, equation 8, (H, N).

    Args:
        logprob: (H, N) of the actions of a dream.
        entropy: (H, N) in nats.
        advantage: (H, N); no gradient flows.
        weight: (H, N) see `dream_weight`.
        ent_coef: Worth of a nat.
    """
    assert logprob.shape == entropy.shape == advantage.shape == weight.shape, (
        logprob.shape,
        entropy.shape,
        advantage.shape,
        weight.shape,
    )
    return -weight.detach() * (logprob * advantage.detach() + ent_coef * entropy)


def dynamics_loss(*, returns: Tensor, entropy: Tensor, weight: Tensor, ent_coef: float) -> Tensor:
    """Return ``-w (R + ent_coef * entropy)``, (H, N), whose gradient passes through the model.

    Hafner et al. 2020, "Dream to control", equation 7.

    Args:
        returns: (H, N) of a dream, with a gradient to its actions.
        entropy: (H, N) in nats.
        weight: (H, N) see `dream_weight`.
        ent_coef: Worth of a nat.
    """
    assert returns.shape == entropy.shape == weight.shape, (returns.shape, weight.shape)
    return -weight.detach() * (returns + ent_coef * entropy)


def replay_weight(terminated: Tensor, truncated: Tensor) -> Tensor:
    """Return 0 where the next step belongs to another episode and 1 elsewhere, (T - 1, B).

    Args:
        terminated: (T, B) bool
        truncated: (T, B) bool
    """
    return (~(terminated | truncated)[:-1]).to(torch.float32)
