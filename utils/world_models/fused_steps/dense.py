"""A dense layer as a product, one operation forward and two back."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor
from torch.nn import functional as F

from utils.models.triton_support import assert_dense
from utils.world_models.fused_steps.arithmetic import warps_of
from utils.world_models.fused_steps.dense_kernels import (
    dense_backward_kernel,
    dense_forward_kernel,
)

_NUMBERS_AT_ONCE = 2048
"""Of a program that takes several rows."""
_ENOUGH_PROGRAMS = 256
"""To fill a GPU; on the way back each leaves one row of the gradients of bias and weight."""


def dense_layer(x: Tensor, linear: Tensor, bias: Tensor, weight: Tensor, *, eps: float) -> Tensor:
    """Return ``silu(rms_norm(x linear^T + bias) * weight)``, (..., W).

    Args:
        x: (..., V); the product is made in the precision of autocast.
        linear: (W, V)
        bias: (W,)
        weight: (W,) of the norm.
        eps: Of the norm.
    """
    return _NormSilu.apply(F.linear(x, linear), bias, weight, eps)


class _NormSilu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor, weight: Tensor, eps: float) -> Tensor:  # type: ignore[override]
        x = x.contiguous()
        y = norm_silu_rows(x, bias, weight, eps=eps, out=torch.empty_like(x))
        ctx.save_for_backward(x, bias, weight)
        ctx.eps = eps
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        """Return the gradients of product, bias and weight."""
        x, bias, weight = ctx.saved_tensors
        sizes = _sizes(x)
        n_rows = x.numel() // x.shape[-1]
        n_groups = triton.cdiv(n_rows, sizes["R"])
        n_programs = min(n_groups, _ENOUGH_PROGRAMS)
        dx = torch.empty_like(x)
        sums = x.new_empty((n_programs, 2, x.shape[-1]), dtype=torch.float32)
        dense_backward_kernel[(n_programs,)](
            x,
            bias,
            weight,
            dy.contiguous(),
            dx,
            sums,
            n_rows,
            ctx.eps,
            GROUPS=triton.cdiv(n_groups, n_programs),
            **sizes,
        )
        of_bias, of_weight = sums.sum(dim=0).unbind()
        return dx, of_bias, of_weight, None


def norm_silu_rows(x: Tensor, bias: Tensor, weight: Tensor, *, eps: float, out: Tensor) -> Tensor:
    """Write ``silu(rms_norm(x + bias) * weight)`` of rows (..., W); no gradient is followed.

    Args:
        x: Contiguous.
        bias: (W,) contiguous.
        weight: (W,) contiguous.
        eps: Of the norm.
        out: As `x`; may be `x`.

    Returns:
        `out`.
    """
    assert_dense(x, bias, weight, out)
    sizes = _sizes(x)
    n_rows = x.numel() // x.shape[-1]
    dense_forward_kernel[(triton.cdiv(n_rows, sizes["R"]),)](
        x, bias, weight, out, n_rows, eps, **sizes
    )
    return out


def _sizes(x: Tensor) -> dict[str, int]:
    """Return sizes of kernels: a program takes no more rows than leave enough programs."""
    width = x.shape[-1]
    block = triton.next_power_of_2(width)
    share = triton.next_power_of_2(triton.cdiv(x.numel() // width, _ENOUGH_PROGRAMS))
    at_once = min(max(1, _NUMBERS_AT_ONCE // block), share)
    return {"C": width, "R": at_once, "BLOCK": block, "num_warps": warps_of(at_once * block)}
