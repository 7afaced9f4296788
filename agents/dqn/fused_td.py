# ruff: noqa: N803, PLR0913 - capitals are a kernel's constants, of which there are many
"""Temporal differences by one kernel of a GPU forward and one back.

Needs Triton; imported where there is a GPU. With ``TRITON_INTERPRET=1`` set before the first import
the same code runs on the CPU.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

_NUMBERS_AT_ONCE = 512
"""Of values that a program of a GPU holds, rows and actions."""


@triton.jit
def td_kernel(
    q,
    action,
    target_q,
    selector_q,
    allowed,
    reward,
    discount,
    loss,
    error,
    value,
    slope,
    ROWS,
    N: tl.constexpr,
    BLOCK: tl.constexpr,
    HAS_MASK: tl.constexpr,
    IS_HUBER: tl.constexpr,
    R: tl.constexpr,
):
    """Write what `td_terms` returns, and how fast each loss grows with the value; R rows at once.

    Args:
        q: (ROWS, N)
        action: (ROWS,) int64
        target_q: (ROWS, N)
        selector_q: (ROWS, N)
        allowed: (ROWS, N) uint8, read if HAS_MASK.
        reward: (ROWS,)
        discount: (ROWS,)
        loss: (ROWS,) written, as all that follow.
        error: (ROWS,)
        value: (ROWS,)
        slope: (ROWS,)
        ROWS: Of the batch.
        N: Actions.
        BLOCK: A power of two, N at least.
        HAS_MASK: Whether some next actions are not allowed.
        IS_HUBER: Rather than squares.
        R: A power of two.
    """
    row, column = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, BLOCK)
    is_row = row < ROWS
    inside = is_row[:, None] & (column < N)[None, :]
    at = row[:, None] * N + column[None, :]
    may = inside
    if HAS_MASK:
        may = inside & (tl.load(allowed + at, mask=inside, other=0) != 0)
    selected = tl.load(selector_q + at, mask=may, other=-float("inf"))
    best = tl.argmax(selected, 1)
    following = tl.load(target_q + at, mask=inside, other=0.0)
    following = tl.sum(tl.where(column[None, :] == best[:, None], following, 0.0), 1)
    # Among what is no number there is no best one, and comparisons say nothing of it.
    n_wrong = tl.sum((selected != selected).to(tl.int32), 1)
    following = tl.where(n_wrong > 0, float("nan"), following)
    target = tl.load(reward + row, mask=is_row, other=0.0)
    target += tl.load(discount + row, mask=is_row, other=0.0) * following
    taken = tl.load(action + row, mask=is_row, other=0)
    own = tl.load(q + at, mask=inside, other=0.0)
    own = tl.sum(tl.where(column[None, :] == taken[:, None], own, 0.0), 1)
    off = own - target
    size = tl.abs(off)
    if IS_HUBER:
        tl.store(loss + row, tl.where(size < 1.0, 0.5 * off * off, size - 0.5), mask=is_row)
        # What is no number is not 1 or more, and goes on to the weights as in torch.
        tl.store(slope + row, tl.where(size >= 1.0, tl.where(off < 0, -1.0, 1.0), off), mask=is_row)
    else:
        tl.store(loss + row, off * off, mask=is_row)
        tl.store(slope + row, 2.0 * off, mask=is_row)
    tl.store(error + row, size, mask=is_row)
    tl.store(value + row, own, mask=is_row)


@triton.jit
def td_back_kernel(
    slope, action, grad, STRIDE, of_q, ROWS, N: tl.constexpr, BLOCK: tl.constexpr, R: tl.constexpr
):
    """Write the gradient of the values, (ROWS, N): that of the loss at the action, else 0.

    Args:
        slope: (ROWS,) from `td_kernel`.
        action: (ROWS,) int64
        grad: (ROWS,) of the losses.
        STRIDE: From one of them to the next, 0 where all are one number.
        of_q: (ROWS, N) written.
        ROWS: As in `td_kernel`.
        N: As there.
        BLOCK: As there.
        R: As there.
    """
    row, column = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, BLOCK)
    is_row = row < ROWS
    inside = is_row[:, None] & (column < N)[None, :]
    g = tl.load(grad + row * STRIDE, mask=is_row, other=0.0)
    g *= tl.load(slope + row, mask=is_row, other=0.0)
    taken = tl.load(action + row, mask=is_row, other=0)
    of_action = tl.where(column[None, :] == taken[:, None], g[:, None], 0.0)
    tl.store(of_q + row[:, None] * N + column[None, :], of_action, mask=inside)


class _TDTerms(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *terms: Any) -> tuple[Tensor, ...]:  # type: ignore[override]
        """Take what `td_terms_fused` takes."""
        q, action, target_q, selector_q, allowed, reward, discount, is_huber = terms
        n_rows, n_actions = q.shape
        block = triton.next_power_of_2(n_actions)
        at_once = max(1, min(_NUMBERS_AT_ONCE // block, triton.next_power_of_2(n_rows)))
        sizes = {"N": n_actions, "BLOCK": block, "R": at_once}
        grid = (triton.cdiv(n_rows, at_once),)
        action = action.contiguous()
        loss, error, value, slope = q.new_empty((4, n_rows)).unbind()
        td_kernel[grid](
            q.contiguous(),
            action,
            target_q.contiguous(),
            selector_q.contiguous(),
            q if allowed is None else allowed.contiguous().view(torch.uint8),
            reward.contiguous(),
            discount.contiguous(),
            loss,
            error,
            value,
            slope,
            n_rows,
            HAS_MASK=allowed is not None,
            IS_HUBER=is_huber,
            **sizes,
        )
        ctx.save_for_backward(slope, action)
        ctx.of_kernel = grid, sizes
        ctx.mark_non_differentiable(error, value)
        return loss, error, value

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        """Return the gradient of the values."""
        slope, action = ctx.saved_tensors
        grid, sizes = ctx.of_kernel
        of_q = slope.new_empty((len(slope), sizes["N"]))
        td_back_kernel[grid](slope, action, grad, grad.stride(0), of_q, len(slope), **sizes)
        return of_q, *[None] * 7


def td_terms_fused(
    q: Tensor,
    action: Tensor,
    target_q: Tensor,
    selector_q: Tensor,
    allowed: Tensor | None,
    reward: Tensor,
    discount: Tensor,
    *,
    is_huber: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute what `agents.dqn.dqn_losses.td_terms` does, of float32."""
    # A kernel reads what lies where it is told to, whatever that is.
    shapes = [
        q.shape,
        target_q.shape,
        selector_q.shape,
        *([] if allowed is None else [allowed.shape]),
    ]
    assert len(set(shapes)) == 1, shapes
    lengths = [q.shape[:1], action.shape, reward.shape, discount.shape]
    assert len(set(lengths)) == 1, lengths
    return _TDTerms.apply(
        q, action, target_q.detach(), selector_q.detach(), allowed, reward, discount, is_huber
    )
