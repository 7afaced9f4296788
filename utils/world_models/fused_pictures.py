# ruff: noqa: N803, PLR0913 - capitals are a kernel's constants, of which there are many
"""What happens between the convolutions of pictures, as one operation forward and one back.

A maximum over 2 x 2 places if asked for, the norm over channels, and SiLU. One by one, in the
precision that each of them asks for, these take longer than the convolutions themselves. Here
numbers are read and written once, in the precision of the convolutions, and reckoned with in
float32.

Needs Triton; imported where there is a GPU. With ``TRITON_INTERPRET=1`` set before the first import
the same code runs on the CPU.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from utils.models.triton_support import assert_dense

_NUMBERS_AT_ONCE = 2048
_MOST_PROGRAMS = 1024
"""Of the way back: each leaves one row of the weight's gradient."""


@triton.jit
def _first_of_four(rows, W):
    """Return where the upper left of the 2 x 2 places of a row lies, in places."""
    return 4 * (rows // W) * W + 2 * (rows % W)


@triton.jit
def _load_four(x, rows, W, c, inside, C: tl.constexpr):
    """Load the 2 x 2 places of each row, float32."""
    at = _first_of_four(rows, W)[:, None] * C + c[None, :]
    upper_left = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    upper_right = tl.load(x + at + C, mask=inside, other=0.0).to(tl.float32)
    lower_left = tl.load(x + at + 2 * W * C, mask=inside, other=0.0).to(tl.float32)
    lower_right = tl.load(x + at + (2 * W + 1) * C, mask=inside, other=0.0).to(tl.float32)
    return upper_left, upper_right, lower_left, lower_right


@triton.jit
def _largest(a, b, c, d):
    return tl.maximum(tl.maximum(a, b), tl.maximum(c, d))


@triton.jit
def _store_four(x, rows, W, ch, inside, a, b, c, d, C: tl.constexpr):
    """Store the 2 x 2 places of each row."""
    at = _first_of_four(rows, W)[:, None] * C + ch[None, :]
    tl.store(x + at, a, mask=inside)
    tl.store(x + at + C, b, mask=inside)
    tl.store(x + at + 2 * W * C, c, mask=inside)
    tl.store(x + at + (2 * W + 1) * C, d, mask=inside)


@triton.jit
def forward_kernel(
    x,
    weight,
    y,
    ROWS,
    W,
    EPS,
    C: tl.constexpr,
    POOLS: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write ``silu(rms_norm(x) * weight)``; R rows for each program.

    A row is a place where the norm is taken: of pictures (B, H, W, C) the number is B H W.

    Args:
        x: (ROWS, C), or (B, 2 H, 2 W, C) where POOLS.
        weight: (C,) float32.
        y: (ROWS, C), written.
        ROWS: Places.
        W: Places side by side in a picture.
        EPS: Of the norm.
        C: Channels.
        POOLS: Take the maximum of 2 x 2 places first.
        R: A power of two.
        BLOCK: A power of two, C at least.
    """
    rows = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    c = tl.arange(0, BLOCK)
    inside = (rows < ROWS)[:, None] & (c < C)[None, :]
    at = rows[:, None] * C + c[None, :]
    if POOLS:
        upper_left, upper_right, lower_left, lower_right = _load_four(x, rows, W, c, inside, C)
        m = _largest(upper_left, upper_right, lower_left, lower_right)
    else:
        m = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(m * m, 1) / C + EPS)
    h = m * scale[:, None] * tl.load(weight + c, mask=c < C, other=0.0)[None, :]
    a = h / (1.0 + tl.exp(-h))
    tl.store(y + at, a, mask=inside)


@triton.jit
def backward_kernel(
    x,
    weight,
    dy,
    dx,
    dweight,
    ROWS,
    W,
    EPS,
    C: tl.constexpr,
    POOLS: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
    TURNS: tl.constexpr,
):
    """Write the gradients of `forward_kernel`; a program takes every n-th group of R rows.

    Of equal places the first one gets the gradient, as in torch.

    Args:
        x: As there.
        weight: As there.
        dy: Gradient, as `y` there.
        dx: As `x`, written.
        dweight: (programs, C) float32, written: what to sum up.
        ROWS: As there, and so on.
        W: As there.
        EPS: As there.
        C: As there.
        POOLS: As there.
        R: As there.
        BLOCK: As there.
        TURNS: Groups of a program, at most.
    """
    c = tl.arange(0, BLOCK)
    w = tl.load(weight + c, mask=c < C, other=0.0)[None, :]
    total = tl.zeros([BLOCK], tl.float32)
    for turn in range(TURNS):
        group = tl.program_id(0).to(tl.int64) + turn * tl.num_programs(0)
        rows = group * R + tl.arange(0, R)
        inside = (rows < ROWS)[:, None] & (c < C)[None, :]
        at = rows[:, None] * C + c[None, :]
        if POOLS:
            upper_left, upper_right, lower_left, lower_right = _load_four(x, rows, W, c, inside, C)
            m = _largest(upper_left, upper_right, lower_left, lower_right)
        else:
            m = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        da = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(m * m, 1) / C + EPS)[:, None]
        n = m * scale
        h = n * w
        s = 1.0 / (1.0 + tl.exp(-h))
        dh = da * s * (1.0 + h * (1.0 - s))
        total += tl.sum(dh * n, 0)
        g = dh * w
        dm = scale * (g - n * (tl.sum(g * n, 1) / C)[:, None])
        if POOLS:
            is_first = upper_left == m
            is_second = (upper_right == m) & ~is_first
            is_third = (lower_left == m) & ~(is_first | is_second)
            is_fourth = ~(is_first | is_second | is_third)
            _store_four(
                dx,
                rows,
                W,
                c,
                inside,
                tl.where(is_first, dm, 0.0),
                tl.where(is_second, dm, 0.0),
                tl.where(is_third, dm, 0.0),
                tl.where(is_fourth, dm, 0.0),
                C,
            )
        else:
            tl.store(dx + at, dm, mask=inside)
    tl.store(dweight + tl.program_id(0) * C + c, total, mask=c < C)


class _Refined(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, x: Tensor, weight: Tensor, eps: float, pools: bool
    ) -> Tensor:
        """Take pictures (B, H, W, C) with the channels last."""
        assert_dense(x, weight)
        assert weight.dtype == torch.float32, weight.dtype
        n, height, width, channels = x.shape
        if pools:
            height, width = height // 2, width // 2
        y = x.new_empty((n, height, width, channels))
        rows, block = n * height * width, triton.next_power_of_2(channels)
        at_once = max(1, _NUMBERS_AT_ONCE // block)
        sizes = {"C": channels, "POOLS": pools, "R": at_once, "BLOCK": block}
        forward_kernel[(triton.cdiv(rows, at_once),)](x, weight, y, rows, width, eps, **sizes)
        ctx.save_for_backward(x, weight)
        ctx.of_kernel = (rows, width, eps), sizes
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        """Return the gradients of pictures and weight."""
        x, weight = ctx.saved_tensors
        numbers, sizes = ctx.of_kernel
        dx = torch.empty_like(x)
        n_groups = triton.cdiv(numbers[0], sizes["R"])
        n_programs = min(n_groups, _MOST_PROGRAMS)
        turns = triton.cdiv(n_groups, n_programs)
        dweight = weight.new_empty((n_programs, len(weight)))
        backward_kernel[(n_programs,)](
            x, weight, dy.contiguous(), dx, dweight, *numbers, **sizes, TURNS=turns
        )
        return dx, dweight.sum(dim=0), None, None


def refine_pictures(x: Tensor, weight: Tensor, *, eps: float, pools: bool) -> Tensor:
    """Pool pictures, norm their channels and apply SiLU.

    Args:
        x: (B, C, H, W) float32, bfloat16 or float16; H and W are even if `pools`.
        weight: (C,) float32 of the norm.
        eps: Of the norm.
        pools: Take the maximum of 2 x 2 places first.

    Returns:
        (B, C, H', W') of the dtype of `x`, channels last in memory.
    """
    assert not pools or x.shape[2] % 2 == x.shape[3] % 2 == 0, x.shape
    rows = x.movedim(1, -1).contiguous()
    return _Refined.apply(rows, weight, eps, pools).movedim(-1, 1)
