"""The scale of the bonus: its running discounted return."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.normalization.running_moments import RunningMoments

_EPSILON = 1e-8


class IntrinsicRewardScale(nn.Module):
    """Divides bonuses by the running standard deviation of their discounted return.

    ``R = gamma R + bonus`` for each environment, step by step; the deviation is that of all R so
    far (Burda et al. 2019, "Exploration by Random Network Distillation", section 2.4). So the bonus
    has one scale whatever the networks and however well they predict, and a coefficient means the
    same everywhere.
    """

    running_return: Tensor

    def __init__(self, n_envs: int) -> None:
        """Start without samples for N environments."""
        super().__init__()
        self.moments = RunningMoments(())
        self.register_buffer("running_return", torch.zeros(n_envs, dtype=torch.float64))

    @torch.no_grad()
    def update(self, bonus: Tensor, ends: Tensor, *, gamma: float) -> None:
        """Take in a rollout.

        Args:
            bonus: (T, N) float.
            ends: (T, N) bool, the return starts again after this step.
            gamma: Discount of the intrinsic return, in [0, 1].
        """
        returns = torch.empty_like(bonus, dtype=torch.float64)
        for t in range(len(bonus)):
            self.running_return.mul_(gamma).add_(bonus[t])
            returns[t] = self.running_return
            self.running_return.masked_fill_(ends[t], 0.0)
        self.moments.update(returns.reshape(-1))

    def forward(self, bonus: Tensor) -> Tensor:
        """Scale bonuses of any shape."""
        return bonus * (self.moments.var + _EPSILON).rsqrt().to(bonus.dtype)
