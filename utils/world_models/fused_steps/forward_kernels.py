# ruff: noqa: N803, PLR0913 - capitals are a kernel's constants, of which there are many
"""What happens between the matrix products of a step of `RSSM.observe` or `RSSM.imagine`.

A product of the state is one of its blocks, so that one product makes all that reads a state:
``parts`` (G, N, PART) are numbers that each block adds to by itself, and sums over all blocks that
kernels take themselves. Of states that are one-hot no product is made, but rows are looked up.
"""

from __future__ import annotations

import triton
import triton.language as tl

from utils.world_models.fused_steps.arithmetic import (
    norm_silu,
    open_gates,
    round_as,
    softmax_rows,
)


@triton.jit
def sum_parts(place, inside, STRIDE, G: tl.constexpr, BLOCK: tl.constexpr):
    """Return the sum over G blocks, `STRIDE` numbers apart, (BLOCK,) float32."""
    total = tl.zeros([BLOCK], tl.float32)
    for g in tl.static_range(G):
        total += tl.load(place + g * STRIDE, mask=inside, other=0.0).to(tl.float32)
    return total


@triton.jit
def read_kernel(
    parts,
    table,
    index,
    action,
    action_weight,
    kept,
    bias,
    weight,
    read,
    active,
    N,
    PART,
    OFFSET,
    EPS,
    A: tl.constexpr,
    G: tl.constexpr,
    S: tl.constexpr,
    C: tl.constexpr,
    H: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Read state, latent and, with a third column of programs, action: product, norm and SiLU.

    Args:
        parts: (G, N, PART) of the states, of which H numbers from OFFSET on are read.
        table: (S * C, H) what each class of each choice adds to what is read of the latent.
        index: (N, S) int32, the classes.
        action: (N, A) float32; numbers beyond 1 count as 1.
        action_weight: (A, H)
        kept: (N,) 0 where an episode begins: neither state nor latent has any influence.
        bias: (readers, H)
        weight: (readers, H) of the norms.
        read: (N, readers, H) before the norm, written.
        active: (N, readers, H) after it, written.
        N: Rows, one for each program.
        PART: See `parts`.
        OFFSET: See there.
        EPS: Of the norms.
        A: Numbers of an action.
        G: Blocks of the state.
        S: Choices of a latent.
        C: Classes of each.
        H: Numbers that are read of each.
        CHUNK: Choices that are looked up at once, a power of two.
        BLOCK: A power of two, H at least.
    """
    n = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1)
    h = tl.arange(0, BLOCK)
    inside = h < H
    x = tl.load(bias + r * H + h, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + r * H + h, mask=inside, other=0.0).to(tl.float32)
    if r == 0:
        share = tl.load(kept + n).to(tl.float32)
        x += share * sum_parts(parts + n * PART + OFFSET + h, inside, N * PART, G, BLOCK)
    if r == 1:
        total = tl.zeros([BLOCK], tl.float32)
        for first in tl.static_range(0, S, CHUNK):
            s = first + tl.arange(0, CHUNK)
            row = s * C + tl.load(index + n * S + s, mask=s < S, other=0)
            both = (s < S)[:, None] & inside[None, :]
            found = tl.load(table + row[:, None] * H + h[None, :], mask=both, other=0.0)
            total += tl.sum(found.to(tl.float32), 0)
        x += tl.load(kept + n).to(tl.float32) * total
    if r == 2:
        for a in range(A):
            value = tl.load(action + n * A + a)
            value = value / tl.maximum(tl.abs(value), 1.0)
            row = tl.load(action_weight + a * H + h, mask=inside, other=0.0)
            x += value * row.to(tl.float32)
    at = (n * tl.num_programs(1) + r) * H + h
    x = round_as(x, read)
    tl.store(read + at, x, mask=inside)
    tl.store(active + at, norm_silu(x, w, H, EPS), mask=inside)


@triton.jit
def mix_kernel(
    parts,
    shared,
    ready,
    kept,
    weight,
    mixed,
    active,
    N,
    PART,
    READY_STRIDE,
    EPS,
    D: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add up what leads to the gates, norm it and apply SiLU; one row for each program.

    Args:
        parts: (G, N, PART) of the states, of which the first SIZE numbers are read.
        shared: (N, D) what all blocks read.
        ready: Rows of D numbers that were known before.
        kept: (N,) 0 where an episode begins: the state has no influence.
        weight: (D,) of the norm.
        mixed: (N, D) before the norm, written; may be `shared`.
        active: (N, D) after it, written.
        N: Rows.
        PART: See `parts`.
        READY_STRIDE: Numbers from one row of `ready` to the next; 0 if there is but one.
        EPS: Of the norm.
        D: Numbers of a state.
        SIZE: Numbers of one of its blocks.
        BLOCK: A power of two, D at least.
    """
    n = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, BLOCK)
    inside = d < D
    of_block = parts + ((d // SIZE) * N + n) * PART + d % SIZE
    x = tl.load(of_block, mask=inside, other=0.0).to(tl.float32) * tl.load(kept + n).to(tl.float32)
    x += tl.load(shared + n * D + d, mask=inside, other=0.0).to(tl.float32)
    x += tl.load(ready + n * READY_STRIDE + d, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + d, mask=inside, other=0.0).to(tl.float32)
    x = round_as(x, mixed)
    tl.store(mixed + n * D + d, x, mask=inside)
    tl.store(active + n * D + d, norm_silu(x, w, D, EPS), mask=inside)


@triton.jit
def gate_kernel(
    gates,
    bias,
    kept,
    old,
    new,
    N,
    STRIDE,
    D: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the next states: ``u tanh(sigmoid(reset) candidate) + (1 - u) old``.

    Args:
        gates: (G, N, 3, SIZE) products: reset, candidate and update.
        bias: (G, 3, SIZE)
        kept: (N,) 0 where an episode begins: the old state counts as 0.
        old: (N, STRIDE) of which the first D numbers of each row are read.
        new: (N, STRIDE) of which they are written.
        N: Rows.
        STRIDE: See `old`.
        D: Numbers of a state.
        SIZE: Numbers of one of its blocks.
        BLOCK: Numbers of one program, of one row.
    """
    n = tl.program_id(0).to(tl.int64)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = d < D
    g, j = d // SIZE, d % SIZE
    at = (g * N + n) * 3 * SIZE + j
    _, _, candidate, update = open_gates(gates, bias, at, g * 3 * SIZE + j, inside, SIZE)
    before = tl.load(old + n * STRIDE + d, mask=inside, other=0.0).to(tl.float32)
    before *= tl.load(kept + n).to(tl.float32)
    tl.store(new + n * STRIDE + d, before + update * (candidate - before), mask=inside)


@triton.jit
def see_kernel(
    parts,
    ready,
    weight,
    seen,
    active,
    N,
    PART,
    OFFSET,
    READY_STRIDE,
    EPS,
    G: tl.constexpr,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add what a state says to what is known, norm it and apply SiLU; one row for each program.

    Args:
        parts: (G, N, PART) of the states, of which H numbers from OFFSET on are read.
        ready: Rows of H numbers that were known before.
        weight: (H,) of the norm.
        seen: (N, H) before the norm, written.
        active: (N, H) after it, written.
        N: Rows.
        PART: See `parts`.
        OFFSET: See there.
        READY_STRIDE: Numbers from one row of `ready` to the next; 0 if there is but one.
        EPS: Of the norm.
        G: Blocks of the state.
        H: Numbers that are read.
        BLOCK: A power of two, H at least.
    """
    n = tl.program_id(0).to(tl.int64)
    h = tl.arange(0, BLOCK)
    inside = h < H
    x = sum_parts(parts + n * PART + OFFSET + h, inside, N * PART, G, BLOCK)
    x += tl.load(ready + n * READY_STRIDE + h, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + h, mask=inside, other=0.0).to(tl.float32)
    x = round_as(x, seen)
    tl.store(seen + n * H + h, x, mask=inside)
    tl.store(active + n * H + h, norm_silu(x, w, H, EPS), mask=inside)


@triton.jit
def draw_kernel(
    product,
    bias,
    noise,
    logits,
    index,
    stoch,
    STRIDE,
    SHARE,
    S: tl.constexpr,
    C: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Draw latents: ``argmax(((1 - share) softmax(logits) + share / C) / noise)`` as one-hot rows.

    Args:
        product: (N, S, C)
        bias: (S, C)
        noise: (N, S, C) float32, see `CategoricalLatent.draw_noise`.
        logits: (N, S, C) the product and its bias, written; may be `product`.
        index: (N, S) int32, written: the classes.
        stoch: (N, STRIDE) of which the first S C numbers of each row are written.
        STRIDE: See `stoch`.
        SHARE: Of the probability that is uniform.
        S: Choices.
        C: Classes of each.
        R: Choices of one program, of one row, a power of two.
        BLOCK: A power of two, C at least.
    """
    n = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1) * R + tl.arange(0, R)
    c = tl.arange(0, BLOCK)
    inside = (s < S)[:, None] & (c < C)[None, :]
    of_row = s[:, None] * C + c[None, :]
    at = n * S * C + of_row
    x = tl.load(product + at, mask=inside, other=0.0).to(tl.float32)
    x += tl.load(bias + of_row, mask=inside, other=0.0).to(tl.float32)
    x = round_as(x, logits)
    tl.store(logits + at, x, mask=inside)
    p = softmax_rows(x, (c < C)[None, :]) * (1.0 - SHARE) + SHARE / C
    key = p / tl.load(noise + at, mask=inside, other=1.0)
    chosen = tl.argmax(tl.where((c < C)[None, :], key, -1.0), 1)
    chosen = tl.minimum(chosen, C - 1)  # where no number is the largest
    tl.store(index + n * S + s, chosen, mask=s < S)
    one_hot = tl.where(c[None, :] == chosen[:, None], 1.0, 0.0)
    tl.store(stoch + n * STRIDE + of_row, one_hot, mask=inside)
