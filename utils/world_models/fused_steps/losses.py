"""What losses of a world model and a critic reckon, one operation forward and one back each."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor

from utils.distributions.two_hot import ROUNDING
from utils.world_models.fused_steps.arithmetic import warps_of
from utils.world_models.fused_steps.loss_kernels import (
    divergence_back_kernel,
    divergence_kernel,
    entropy_kernel,
    two_hot_back_kernel,
    two_hot_loss_kernel,
    two_hot_mean_kernel,
)

_NUMBERS_AT_ONCE = 1024
"""Of logits over bins."""


def divergence(
    first: Tensor, second: Tensor, *, n_choices: int, n_classes: int, share: float
) -> Tensor:
    """Return ``KL(first || second)`` of latents summed over all choices, (...) float32.

    Args:
        first: (..., S * C) logits.
        second: (..., S * C) logits.
        n_choices: S.
        n_classes: C.
        share: Of the probability that is uniform, above 0.
    """
    assert share > 0.0, share
    return _Divergence.apply(first, second, n_choices, n_classes, share)


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, first: Tensor, second: Tensor, n_choices: int, n_classes: int, share: float
    ) -> Tensor:
        first, second = first.contiguous(), second.contiguous()
        sizes = _sizes_of_latents(n_choices, n_classes)
        out = first.new_empty(first.shape[:-1], dtype=torch.float32)
        divergence_kernel[(out.numel(),)](first, second, out, SHARE=share, **sizes)
        ctx.save_for_backward(first, second)
        ctx.of_kernel = share, sizes
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        """Return the gradients of those logits that have one."""
        first, second = ctx.saved_tensors
        share, sizes = ctx.of_kernel
        needs = ctx.needs_input_grad[:2]
        out = [
            torch.empty_like(x) if x_needs else x
            for x, x_needs in zip((first, second), needs, strict=True)
        ]
        divergence_back_kernel[(grad.numel(),)](
            first,
            second,
            grad.contiguous(),
            *out,
            SHARE=share,
            NEEDS_FIRST=needs[0],
            NEEDS_SECOND=needs[1],
            **sizes,
        )
        of_first, of_second = (
            x if x_needs else None for x, x_needs in zip(out, needs, strict=True)
        )
        return of_first, of_second, None, None, None


def entropy(parameters: Tensor, *, n_choices: int, n_classes: int, share: float) -> Tensor:
    """Return the entropy of latents (..., S * C), (...) float32; no gradient is followed."""
    out = parameters.new_empty(parameters.shape[:-1], dtype=torch.float32)
    sizes = _sizes_of_latents(n_choices, n_classes)
    entropy_kernel[(out.numel(),)](parameters.detach().contiguous(), out, SHARE=share, **sizes)
    return out


def _sizes_of_latents(n_choices: int, n_classes: int) -> dict[str, int]:
    choices, classes = map(triton.next_power_of_2, (n_choices, n_classes))
    return {
        "S": n_choices,
        "C": n_classes,
        "S_BLOCK": choices,
        "C_BLOCK": classes,
        "num_warps": warps_of(choices * classes),
    }


def two_hot_loss(logits: Tensor, target: Tensor, bins: Tensor) -> Tensor:
    """Return the cross-entropy with numbers; see `utils.distributions.two_hot.two_hot_loss`."""
    assert logits.shape[:-1] == target.shape, (logits.shape, target.shape)
    return _TwoHotLoss.apply(logits, target.detach(), bins)


class _TwoHotLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, bins: Tensor) -> Tensor:  # type: ignore[override]
        logits, target = logits.contiguous(), target.float().contiguous()
        out = torch.empty_like(target)
        grid, sizes = _rows_of_bins(out, len(bins), len(bins))
        two_hot_loss_kernel[grid](logits, target, bins, out, out.numel(), **sizes)
        ctx.save_for_backward(logits, target, bins)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        """Return the gradient of the logits."""
        logits, target, bins = ctx.saved_tensors
        out = torch.empty_like(logits)
        grid, sizes = _rows_of_bins(target, len(bins), len(bins))
        two_hot_back_kernel[grid](
            logits, target, bins, grad.contiguous(), out, target.numel(), **sizes
        )
        return out, None, None


def two_hot_mean(logits: Tensor, bins: Tensor) -> Tensor:
    """Return the mean of distributions (..., N), (...); no gradient is followed.

    See `utils.distributions.two_hot.two_hot_mean`.
    """
    out = logits.new_empty(logits.shape[:-1], dtype=torch.float32)
    grid, sizes = _rows_of_bins(out, len(bins), len(bins) // 2 + 1)
    two_hot_mean_kernel[grid](
        logits.detach().contiguous(), bins, out, out.numel(), ROUNDING=ROUNDING, **sizes
    )
    return out


def _rows_of_bins(rows: Tensor, n_bins: int, width: int) -> tuple[tuple[int], dict[str, int]]:
    """Return grid and sizes of a kernel that holds `width` numbers of each row."""
    block = triton.next_power_of_2(width)
    at_once = max(1, _NUMBERS_AT_ONCE // block)
    sizes = {"N": n_bins, "R": at_once, "BLOCK": block, "num_warps": warps_of(at_once * block)}
    return (triton.cdiv(rows.numel(), at_once),), sizes
