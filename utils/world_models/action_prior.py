"""The policy that proposes actions to a planner, and that values are the values of."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

LOG_STD_MIN, LOG_STD_MAX = -10.0, 2.0
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_CLIP = 0.3
"""Of the noise of actions whose values are climbed."""


class Proposed(NamedTuple):
    """Actions of the prior."""

    action: Tensor
    """(..., A) in [-1, 1]."""
    entropy: Tensor
    """(...) what the noise adds to its loss; see each prior."""


class SquashedPrior(nn.Module):
    """``tanh(mean + std * noise)``, both from the latent state.

    Haarnoja et al. 2018, "Soft actor-critic", appendix C; as in TD-MPC2 the logarithm of the
    deviation is a tanh between -10 and 2, and `entropy` is that of the normal distribution before
    the tanh, of one draw, times the number of actions.
    """

    def __init__(self, layers: nn.Module, n_actions: int) -> None:
        """Hold layers from latent states to 2 A outputs."""
        super().__init__()
        self.layers, self.n_outputs, self.n_actions = layers, 2 * n_actions, n_actions

    def forward(self, latent: Tensor, noise: Tensor | None, std: Tensor) -> Proposed:
        """Propose actions.

        Args:
            latent: (..., L)
            noise: (..., A) standard normal; None for the mode.
            std: Not read: the deviation is learnt.
        """
        del std
        mean, raw = self.layers(latent).float().chunk(2, dim=-1)
        half = 0.5 * (LOG_STD_MAX - LOG_STD_MIN)
        log_std = LOG_STD_MIN + half * (raw.tanh() + 1.0)
        if noise is None:
            return Proposed(mean.tanh(), log_std.new_zeros(log_std.shape[:-1]))
        logprob = -0.5 * noise.square() - log_std - _HALF_LOG_TWO_PI
        action = torch.addcmul(mean, log_std.exp(), noise).tanh()
        return Proposed(action, -self.n_actions * logprob.sum(dim=-1))


class NoisyPrior(nn.Module):
    """``tanh(mean)``, and noise of a given deviation.

    Hansen et al. 2022, "Temporal difference learning for model predictive control"; `entropy` is 0.
    """

    def __init__(self, layers: nn.Module, n_actions: int) -> None:
        """Hold layers from latent states to A outputs."""
        super().__init__()
        self.layers, self.n_outputs, self.n_actions = layers, n_actions, n_actions

    def forward(self, latent: Tensor, noise: Tensor | None, std: Tensor) -> Proposed:
        """Propose actions.

        Args:
            latent: (..., L)
            noise: (..., A) standard normal; None for the mode.
            std: () deviation of the noise, which is cut off at 0.3.
        """
        mean = self.layers(latent).float().tanh()
        still = mean.new_zeros(mean.shape[:-1])
        if noise is None:
            return Proposed(mean, still)
        noisy = mean + (std * noise).clamp(-_CLIP, _CLIP)
        # At the bounds the gradient is that of the mean.
        return Proposed(mean + (noisy.clamp(-1.0, 1.0) - mean).detach(), still)
