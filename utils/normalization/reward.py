"""Reward scaling by the spread of the discounted return."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from utils.normalization.running_moments import RunningMoments

EPSILON = 1e-8


class RewardNormalizer(nn.Module):
    """Divide rewards by the standard deviation of the running discounted return.

    The mean is kept, so the sign of a reward never changes. Each environment carries one return,
    ``R = gamma * R + reward``, which starts again after an episode. Engstrom et al. 2020,
    "Implementation Matters in Deep Policy Gradients", section 2 (reward scaling).
    """

    def __init__(self, n_envs: int, *, gamma: float, limit: float) -> None:
        """Start without samples.

        Args:
            n_envs: Number of environments N.
            gamma: Discount in [0, 1].
            limit: Clip of the scaled reward.
        """
        super().__init__()
        self.moments = RunningMoments(())
        self.register_buffer("running_return", torch.zeros(n_envs, dtype=torch.float64))
        self.gamma = gamma
        self.limit = limit
        self.gather: Callable[[Tensor], Tensor] = lambda rows: rows
        """Joins the rows of all processes that collect together."""

    @torch.no_grad()
    def update(
        self, reward: np.ndarray, done: np.ndarray, *, is_counted: np.ndarray | None = None
    ) -> None:
        """Take in one vector step.

        Args:
            reward: (N,) float.
            done: (N,) bool, the episode ended with this step.
            is_counted: (N,) bool, environments whose step belongs to the data; all if None.
        """
        self.running_return.mul_(self.gamma).add_(torch.from_numpy(reward))
        counted = self.running_return
        if is_counted is not None:
            counted = counted[torch.from_numpy(is_counted)]
        self.moments.update(self.gather(counted))
        self.running_return[torch.from_numpy(done)] = 0.0

    def apply_to(self, reward: np.ndarray) -> np.ndarray:
        """Scale rewards (N,) and clip them to [-limit, limit]."""
        scale = 1.0 / np.sqrt(self.moments.var.item() + EPSILON)
        return np.clip(reward * scale, -self.limit, self.limit)
