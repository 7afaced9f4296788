# ruff: noqa: N803, PLR0913 - capitals are a kernel's constants, of which there are many
"""What follows the product of a dense layer: bias, norm and SiLU, of many rows at once."""

from __future__ import annotations

import triton
import triton.language as tl

from utils.models.triton_functions import sigmoid


@triton.jit
def dense_forward_kernel(
    x, bias, weight, y, ROWS, EPS, C: tl.constexpr, R: tl.constexpr, BLOCK: tl.constexpr
):
    """Write ``silu(rms_norm(x + bias) * weight)``; R rows for each program.

    Args:
        x: (ROWS, C)
        bias: (C,)
        weight: (C,) of the norm.
        y: (ROWS, C) written.
        ROWS: Number of rows.
        EPS: Of the norm.
        C: Numbers of a row.
        R: A power of two.
        BLOCK: A power of two, C at least.
    """
    rows = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    c = tl.arange(0, BLOCK)
    inside = (rows < ROWS)[:, None] & (c < C)[None, :]
    at = rows[:, None] * C + c[None, :]
    b = tl.load(bias + c, mask=c < C, other=0.0).to(tl.float32)
    w = tl.load(weight + c, mask=c < C, other=0.0).to(tl.float32)
    m = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) + b[None, :]
    h = m * tl.rsqrt(tl.sum(m * m, 1) / C + EPS)[:, None] * w[None, :]
    tl.store(y + at, h * sigmoid(h), mask=inside)


@triton.jit
def dense_backward_kernel(
    x,
    bias,
    weight,
    dy,
    dx,
    sums,
    ROWS,
    EPS,
    GROUPS: tl.constexpr,
    C: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the gradients of `dense_forward_kernel`; a program takes every n-th group of R rows.

    Args:
        x: As there.
        bias: As there.
        weight: As there.
        dy: Gradient of `y`.
        dx: Gradient of `x`, written.
        sums: (programs, 2, C) float32, written: gradients of bias and weight, to be summed up.
        ROWS: As there.
        EPS: As there.
        GROUPS: How many a program takes.
        C: As there, and so on.
        R: As there.
        BLOCK: As there.
    """
    c = tl.arange(0, BLOCK)
    b = tl.load(bias + c, mask=c < C, other=0.0).to(tl.float32)[None, :]
    w = tl.load(weight + c, mask=c < C, other=0.0).to(tl.float32)[None, :]
    of_bias = tl.zeros([BLOCK], tl.float32)
    of_weight = tl.zeros([BLOCK], tl.float32)
    for group in range(GROUPS):
        first = (group * tl.num_programs(0) + tl.program_id(0)) * R
        rows = first.to(tl.int64) + tl.arange(0, R)
        inside = (rows < ROWS)[:, None] & (c < C)[None, :]
        at = rows[:, None] * C + c[None, :]
        m = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) + b
        scale = tl.rsqrt(tl.sum(m * m, 1) / C + EPS)[:, None]
        n = m * scale
        h = n * w
        s = sigmoid(h)
        dh = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32) * s * (1.0 + h * (1.0 - s))
        g = dh * w
        dm = scale * (g - n * (tl.sum(g * n, 1) / C)[:, None])
        tl.store(dx + at, dm, mask=inside)
        # Rows beyond the last have no gradient.
        of_bias += tl.sum(tl.where(inside, dm, 0.0), 0)
        of_weight += tl.sum(dh * n, 0)
    place = sums + tl.program_id(0) * 2 * C + c
    tl.store(place, of_bias, mask=c < C)
    tl.store(place + C, of_weight, mask=c < C)
