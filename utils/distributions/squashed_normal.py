"""A normal distribution pressed into [-1, 1] by the hyperbolic tangent."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_LOG_TWO = math.log(2.0)


def squash(mean: Tensor, log_std: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Compute an action ``a = tanh(u)``, ``u = mean + std * noise``, and its log-density.

    ``log p(a) = sum_i [log N(u_i; mean_i, std_i) - log(1 - tanh(u_i)^2)]``

    Haarnoja et al. 2018, "Soft actor-critic algorithms and applications", appendix C, equation 26.
    ``log(1 - tanh(u)^2)`` is taken as ``2 (log 2 - u - softplus(-2u))``, which stays exact where
    the tangent rounds to 1.

    Args:
        mean: (B, A)
        log_std: (B, A)
        noise: (B, A) of a standard normal distribution.

    Returns:
        action (B, A) in [-1, 1] and its log-density (B,); gradients flow to mean and log_std.
    """
    assert mean.shape == log_std.shape == noise.shape, (mean.shape, log_std.shape, noise.shape)
    unsquashed = torch.addcmul(mean, log_std.exp(), noise)
    normal = 0.5 * noise.square() + log_std + _HALF_LOG_TWO_PI
    volume = 2.0 * (_LOG_TWO - unsquashed - F.softplus(-2.0 * unsquashed))
    return unsquashed.tanh(), -(normal + volume).sum(dim=1)
