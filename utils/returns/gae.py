"""Generalised advantage estimation."""

from __future__ import annotations

import torch
from torch import Tensor


def generalized_advantage(
    *,
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    done: Tensor,
    gamma: float,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Compute advantages and the value targets that go with them.

    ``delta[t] = reward[t] + gamma * (1 - terminated[t]) * next_value[t] - value[t]``
    ``advantage[t] = delta[t] + gamma * gae_lambda * (1 - done[t]) * advantage[t + 1]``

    Schulman et al. 2016, "High-Dimensional Continuous Control Using Generalized Advantage
    Estimation", equations 11, 12 and 16. `terminated` cuts the bootstrap, `done` cuts the trace:
    an episode that is truncated still bootstraps from the value of its final observation.

    Args:
        reward: (T, N) float, what the learner is paid for step t.
        value: (T, N) float, V(observation[t]).
        next_value: (T, N) float, V of the observation that step t led to. Where step t ended an
            episode this is V(final observation), never V of the next episode's first observation.
        terminated: (T, N) bool, step t ended the MDP.
        done: (T, N) bool, step t ended the episode (terminated or truncated).
        gamma: Discount in [0, 1].
        gae_lambda: Trace decay in [0, 1].

    Returns:
        advantage (T, N) and returns (T, N) = advantage + value, the targets of the critic.
    """
    assert reward.shape == value.shape == next_value.shape, (
        reward.shape,
        value.shape,
        next_value.shape,
    )
    assert terminated.shape == done.shape == reward.shape, (terminated.shape, done.shape)
    discount = gamma * (1.0 - terminated.to(reward.dtype))
    delta = reward + discount * next_value - value
    decay = gamma * gae_lambda * (1.0 - done.to(reward.dtype))
    advantage = torch.stack(_scan_backwards(delta, decay))
    return advantage, advantage + value


def _scan_backwards(delta: Tensor, decay: Tensor) -> list[Tensor]:
    """Return y[t] = delta[t] + decay[t] * y[t + 1] for each t, with y[T] = 0."""
    deltas, decays = delta.unbind(0), decay.unbind(0)
    running = torch.zeros_like(deltas[-1])
    out: list[Tensor] = []
    for t in range(len(deltas) - 1, -1, -1):
        running = torch.addcmul(deltas[t], decays[t], running)
        out.append(running)
    out.reverse()
    return out
