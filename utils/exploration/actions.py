"""Actions as an inverse model guesses them and as a forward model reads them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.distributions import Bernoulli, Categorical, MultiCategorical
from utils.errors import ConfigError


class ActionCode(nn.Module):
    """Turns stored actions of a space into (B, width) numbers and scores guesses of them.

    Choices are one-hot and guessed as logits, bits are 0 or 1 and guessed as logits, continuous
    actions are clipped to their bounds as the environment clips them, scaled to [-1, 1] where they
    have both bounds, and guessed as numbers.
    """

    centre: Tensor
    half_range: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, space: gym.Space) -> None:
        """Read sizes or bounds of a single action space.

        Raises:
            ConfigError: The space is of a kind that policies cannot act in.
        """
        super().__init__()
        self.distribution: Categorical | MultiCategorical | Bernoulli | None = None
        match space:
            case gym.spaces.Discrete():
                self.distribution = Categorical(int(space.n))
                self.width = int(space.n)
            case gym.spaces.MultiDiscrete() if space.nvec.ndim == 1:
                sizes = tuple(int(n) for n in space.nvec)
                self.distribution = MultiCategorical(sizes)
                self.width = sum(sizes)
            case gym.spaces.MultiBinary() if len(space.shape) == 1:
                self.distribution = Bernoulli(int(space.shape[0]))
                self.width = int(space.shape[0])
            case gym.spaces.Box():
                self.width = int(np.prod(space.shape, dtype=int))
                self._read_bounds(space)
            case _:
                raise ConfigError(f"exploration.kind: icm cannot guess actions of {space}")

    def _read_bounds(self, space: gym.spaces.Box) -> None:
        low = space.low.reshape(-1).astype(np.float64)
        high = space.high.reshape(-1).astype(np.float64)
        bounded = np.isfinite(low) & np.isfinite(high) & (high > low)
        low_or_minus, high_or_one = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
        arrays = {
            "low": low,
            "high": high,
            "centre": (low_or_minus + high_or_one) / 2,
            "half_range": (high_or_one - low_or_minus) / 2,
        }
        for name, array in arrays.items():
            tensor = torch.as_tensor(array, dtype=torch.float32)
            self.register_buffer(name, tensor, persistent=False)

    def forward(self, action: Tensor) -> Tensor:
        """Encode stored actions (B, ...) as (B, width) float32."""
        match self.distribution:
            case Categorical(n):
                return F.one_hot(action, n).to(torch.float32)
            case MultiCategorical(sizes):
                groups = [F.one_hot(action[:, k], size) for k, size in enumerate(sizes)]
                return torch.cat(groups, dim=-1).to(torch.float32)
            case Bernoulli():
                return action.to(torch.float32)
        flat = action.reshape(action.shape[0], -1)
        return (flat.clamp(self.low, self.high) - self.centre) / self.half_range

    def guess_loss(self, guess: Tensor, action: Tensor) -> Tensor:
        """Score a guess: ``-log p(action)``, or half the squared error of continuous actions.

        Args:
            guess: (B, width) logits, or scaled actions.
            action: (B, ...) as the policy drew them.

        Returns:
            (B,) float, summed over the dimensions of the action.
        """
        if self.distribution is not None:
            return -self.distribution.logprob((guess,), action)
        return 0.5 * (guess - self(action)).square().sum(dim=-1)
