"""What is drawn in a dream, and what a dream is worth, one operation each; without gradients."""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from utils.world_models.fused_steps.arithmetic import warps_of
from utils.world_models.fused_steps.dream_kernels import act_kernel, returns_kernel

_DRAWN_AT_ONCE = 256
_NUMBERS_AT_ONCE = 1024
"""Of the steps of some sequences."""


def draw_bounded(mean: Tensor, std: Tensor, noise: Tensor, *, least_std: float) -> Tensor:
    """Return ``tanh(mean) + ((1 - least) sigmoid(std + 2) + least) * noise``, float32.

    Args:
        mean: (N, A), the first half of rows whose second is `std`.
        std: (N, A)
        noise: (N, A) float32, standard normal.
        least_std: Least deviation; the most is 1.
    """
    width = noise.shape[-1]
    assert mean.shape == std.shape == noise.shape, (mean.shape, std.shape, noise.shape)
    assert mean.stride() == std.stride() == (mean.stride(0), 1), (mean.stride(), std.stride())
    assert std.data_ptr() - mean.data_ptr() == width * mean.element_size(), "no halves of a row"
    noise = noise.contiguous()
    out = torch.empty_like(noise)
    act_kernel[(triton.cdiv(out.numel(), _DRAWN_AT_ONCE),)](
        mean,
        noise,
        out,
        out.numel(),
        mean.stride(0),
        least_std,
        A=width,
        BLOCK=_DRAWN_AT_ONCE,
        num_warps=warps_of(_DRAWN_AT_ONCE),
    )
    return out


def lambda_returns(
    *, reward: Tensor, discount: Tensor, next_value: Tensor, trace: float | Tensor
) -> Tensor:
    """Compute the mixture of n-step returns; see `utils.returns.lambda_returns`."""
    parts = [x.float().contiguous() for x in (reward, discount, next_value)]
    shapes = [x.shape for x in (*parts, trace) if isinstance(x, Tensor)]
    assert len(set(shapes)) == 1, shapes
    n_steps, n = parts[0].shape
    block = triton.next_power_of_2(n_steps)
    at_once = min(max(1, _NUMBERS_AT_ONCE // block), triton.next_power_of_2(n))
    has_trace = isinstance(trace, Tensor)
    traces = trace.float().contiguous() if isinstance(trace, Tensor) else parts[0]
    out = torch.empty_like(parts[0])
    returns_kernel[(triton.cdiv(n, at_once),)](
        *parts,
        traces,
        out,
        n,
        1.0 if isinstance(trace, Tensor) else trace,
        HAS_TRACE=has_trace,
        T=n_steps,
        T_BLOCK=block,
        BLOCK=at_once,
        num_warps=warps_of(block * at_once),
    )
    return out
