"""A normal distribution pressed into [-1, 1] by the hyperbolic tangent."""

from __future__ import annotations

import math
from typing import Any

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
    action, logprob = _Squash.apply(mean, log_std, noise)  # type: ignore[no-untyped-call]
    return action, logprob


class _Squash(torch.autograd.Function):
    """See `squash`; with ``u = unsquashed`` the derivative of ``-log(1 - tanh(u)^2)`` is 2 tanh(u).

    Written out it is a third of the operations, which are what it costs on a GPU.
    """

    @staticmethod
    def forward(ctx: Any, mean: Tensor, log_std: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        std = log_std.exp()
        unsquashed = torch.addcmul(mean, std, noise)
        action = unsquashed.tanh()
        # softplus(-2u) is -2 of this, and so no negative number has to be made.
        soft = F.softplus(unsquashed, beta=-2.0)
        minus = torch.addcmul(log_std, noise, noise, value=0.5)
        minus = minus.sub_(unsquashed, alpha=2.0).add_(soft, alpha=4.0)
        constant = mean.shape[1] * (_HALF_LOG_TWO_PI + 2.0 * _LOG_TWO)
        ctx.save_for_backward(action, std, noise)
        return action, -constant - minus.sum(dim=1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, of_action: Tensor, of_logprob: Tensor) -> Any:
        action, std, noise = ctx.saved_tensors
        of_logprob = of_logprob.unsqueeze(1)
        of_mean = torch.ops.aten.tanh_backward(of_action, action)
        of_mean = of_mean.addcmul_(action, of_logprob, value=2.0)
        of_log_std = (of_mean * (std * noise)).sub_(of_logprob)
        of_noise = of_mean * std - of_logprob * noise if ctx.needs_input_grad[2] else None
        return of_mean, of_log_std, of_noise
