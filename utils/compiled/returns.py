"""Generalised advantage estimation in one pass; the formulas are those of `utils.returns.gae`."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gym_envs.numba_settings import njit

_f = np.float32


@njit(cache=True, error_model="numpy")
def _scan(  # noqa: PLR0913
    reward, value, next_value, terminated, done, gamma, decay, advantage, returns
):
    n_steps, n_envs = reward.shape
    discount, trace = _f(gamma), _f(decay)
    nothing = _f(0.0)
    for t in range(n_steps - 1, -1, -1):
        now, following = advantage[t], advantage[min(t + 1, n_steps - 1)]
        carried = trace if t < n_steps - 1 else nothing
        for i in range(n_envs):
            bootstrap = nothing if terminated[t, i] else discount * next_value[t, i]
            later = nothing if done[t, i] else carried * following[i]
            now[i] = reward[t, i] + bootstrap - value[t, i] + later
            returns[t, i] = now[i] + value[t, i]


def compiled_generalized_advantage(
    *,
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    done: Tensor,
    gamma: float,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Compute what `generalized_advantage` does, of contiguous float32 (T, N) on the CPU.

    Args:
        reward: (T, N)
        value: (T, N)
        next_value: (T, N)
        terminated: (T, N) bool
        done: (T, N) bool
        gamma: Discount in [0, 1].
        gae_lambda: Trace decay in [0, 1].

    Returns:
        advantage (T, N) and returns (T, N).
    """
    advantage, returns = torch.zeros_like(reward), torch.empty_like(reward)
    _scan(
        *(part.numpy() for part in (reward, value, next_value, terminated, done)),
        gamma,
        gamma * gae_lambda,
        advantage.numpy(),
        returns.numpy(),
    )
    return advantage, returns
