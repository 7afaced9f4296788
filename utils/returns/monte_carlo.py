"""Monte Carlo returns of whole episodes."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.returns.gae import generalized_advantage


def reward_to_go(
    *,
    reward: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    done: Tensor,
    gamma: float,
) -> Tensor:
    """Compute the discounted sum of the rewards from each step to the end of its episode.

    ``returns[t] = reward[t] + gamma * returns[t + 1]`` inside an episode. A truncated episode, and
    one that the rollout leaves unfinished, goes on with ``gamma * next_value[t]``; pass zeros
    where there is no critic. Sutton and Barto 2018, equation 3.9.

    Args:
        reward: (T, N) float.
        next_value: (T, N) float, V of the observation that step t led to; read only where an
            episode is truncated and in the last row.
        terminated: (T, N) bool.
        done: (T, N) bool.
        gamma: Discount in [0, 1].

    Returns:
        (T, N) float.
    """
    last_row = torch.zeros_like(done)
    last_row[-1] = True
    bootstrap = torch.where(done | last_row, next_value, torch.zeros_like(next_value))
    returns, _ = generalized_advantage(
        reward=reward,
        value=torch.zeros_like(reward),
        next_value=bootstrap,
        terminated=terminated,
        done=done,
        gamma=gamma,
        gae_lambda=1.0,
    )
    return returns


def episode_return(*, returns: Tensor, done: Tensor) -> Tensor:
    """Give every step of an episode the return of the episode's first step.

    This is the weight of the original REINFORCE estimator (Williams 1992): all actions of an
    episode share its whole discounted return.

    Args:
        returns: (T, N) float, reward-to-go; row 0 begins an episode in every column.
        done: (T, N) bool.

    Returns:
        (T, N) float.
    """
    assert returns.shape == done.shape, (returns.shape, done.shape)
    first = torch.ones_like(done[0])
    current = returns[0]
    out: list[Tensor] = []
    for t in range(returns.shape[0]):
        current = torch.where(first, returns[t], current)
        out.append(current)
        first = done[t]
    return torch.stack(out)
