# ruff: noqa: N803, PLR0913 - capitals are a kernel's constants, of which there are many
"""What happens between the matrix products of a step of the way back of `RSSM.observe`.

Names are those of `forward_kernels`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from utils.world_models.fused_steps.arithmetic import norm_silu_back, open_gates, softmax_rows
from utils.world_models.fused_steps.forward_kernels import sum_parts


@triton.jit
def draw_back_kernel(
    logits,
    of_logits,
    of_stoch,
    through,
    out,
    TOTAL,
    CERTAIN,
    C: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the gradient of logits; that of a draw goes straight through to the probabilities.

    Args:
        logits: (TOTAL, C)
        of_logits: (TOTAL, C) their gradient from outside.
        of_stoch: (TOTAL, C) that of what was drawn, from outside.
        through: (TOTAL, C) the same from the step that came next.
        out: (TOTAL, C) written.
        TOTAL: Rows times choices.
        CERTAIN: What of the probability is not uniform.
        C: Classes of a choice.
        R: Choices of one program, a power of two.
        BLOCK: A power of two, C at least.
    """
    q = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    c = tl.arange(0, BLOCK)
    inside = (q < TOTAL)[:, None] & (c < C)[None, :]
    at = q[:, None] * C + c[None, :]
    x = tl.load(logits + at, mask=inside, other=0.0).to(tl.float32)
    p = softmax_rows(x, (c < C)[None, :])
    grad = tl.load(of_stoch + at, mask=inside, other=0.0).to(tl.float32)
    grad += tl.load(through + at, mask=inside, other=0.0).to(tl.float32)
    straight = p * (grad - tl.sum(p * grad, 1)[:, None])
    total = tl.load(of_logits + at, mask=inside, other=0.0).to(tl.float32) + CERTAIN * straight
    tl.store(out + at, total, mask=inside)


@triton.jit
def norm_back_kernel(
    dy,
    x,
    weight,
    dx,
    dweight,
    N,
    STRIDE,
    EPS,
    WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Go back through SiLU and norm; one row for each program.

    Args:
        dy: (WIDTH / SIZE, N, SIZE) gradient of the result, in blocks.
        x: (N, WIDTH) before the norm.
        weight: (WIDTH,) of the norm.
        dx: (N, STRIDE) of which the first WIDTH numbers of each row are written.
        dweight: (N, WIDTH) what each row says of the weight, written.
        N: Rows.
        STRIDE: See `dx`.
        EPS: Of the norm.
        WIDTH: Numbers of a row.
        SIZE: Numbers of a block.
        BLOCK: A power of two, WIDTH at least.
    """
    n = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, BLOCK)
    inside = d < WIDTH
    of_block = dy + ((d // SIZE) * N + n) * SIZE + d % SIZE
    grad = tl.load(of_block, mask=inside, other=0.0).to(tl.float32)
    row = tl.load(x + n * WIDTH + d, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + d, mask=inside, other=0.0).to(tl.float32)
    of_x, of_weight = norm_silu_back(row, w, grad, WIDTH, EPS)
    tl.store(dx + n * STRIDE + d, of_x, mask=inside)
    tl.store(dweight + n * WIDTH + d, of_weight, mask=inside)


@triton.jit
def gate_back_kernel(
    of_deter,
    product,
    carried,
    parts,
    kept_next,
    gates,
    bias,
    kept,
    old,
    out,
    N,
    PART,
    OFFSET,
    STRIDE,
    OUT_STRIDE,
    D: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add up the gradient of states, and write that of the gates.

    ``h = u c + (1 - u) h'``, ``c = tanh(r a)``, ``r = sigmoid(reset)``, ``u = sigmoid(update)``:
    ``dh / da = u (1 - c^2) r``, ``dh / dreset = u (1 - c^2) a r (1 - r)``,
    ``dh / dupdate = (c - h') u (1 - u)``, ``dh / dh' = 1 - u``.

    Args:
        of_deter: (N, D) gradient of the states from outside.
        product: (N, D) from whoever reads them, in this step and the next.
        carried: (N, D) float32: from the states of the next step; then for those of the last step.
        parts: (G, N, PART) from the blocks of the next step, SIZE numbers from OFFSET on.
        kept_next: (N,) 0 where the next step begins an episode.
        gates: (G, N, 3, SIZE) products.
        bias: (G, 3, SIZE)
        kept: (N,) 0 where this step begins an episode.
        old: (N, STRIDE) of which the first D numbers are the state before.
        out: G matrices (N, 3, SIZE), OUT_STRIDE numbers apart: gradient of the gates, written.
        N: Rows.
        PART: See `parts`.
        OFFSET: See there.
        STRIDE: See `old`.
        OUT_STRIDE: See `out`.
        D: Numbers of a state.
        SIZE: Numbers of one of its blocks.
        BLOCK: Numbers of one program, of one row.
    """
    n = tl.program_id(0).to(tl.int64)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = d < D
    i = n * D + d
    g, j = d // SIZE, d % SIZE
    later = tl.load(carried + i, mask=inside, other=0.0)
    of_parts = parts + (g * N + n) * PART + OFFSET + j
    later += tl.load(of_parts, mask=inside, other=0.0).to(tl.float32)
    later *= tl.load(kept_next + n).to(tl.float32)
    grad = tl.load(of_deter + i, mask=inside, other=0.0).to(tl.float32) + later
    grad += tl.load(product + i, mask=inside, other=0.0).to(tl.float32)
    at = (g * N + n) * 3 * SIZE + j
    reset, raw, c, update = open_gates(gates, bias, at, g * 3 * SIZE + j, inside, SIZE)
    before = tl.load(old + n * STRIDE + d, mask=inside, other=0.0).to(tl.float32)
    before *= tl.load(kept + n).to(tl.float32)
    of_raw = grad * update * (1.0 - c * c) * reset
    place = out + g.to(tl.int64) * OUT_STRIDE + n * 3 * SIZE + j
    tl.store(place, of_raw * raw * (1.0 - reset), mask=inside)
    tl.store(place + SIZE, of_raw, mask=inside)
    tl.store(place + 2 * SIZE, grad * (c - before) * update * (1.0 - update), mask=inside)
    tl.store(carried + i, grad * (1.0 - update), mask=inside)


@triton.jit
def read_back_kernel(
    parts,
    read,
    weight,
    kept,
    delta,
    joint,
    dweight,
    N,
    PART,
    STRIDE,
    EPS,
    G: tl.constexpr,
    H: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Go back through SiLU and norm of what is read of state and latent; a program each.

    Args:
        parts: (G, N, PART) from all blocks, of which the first 2 H numbers are read.
        read: (N, 2, H) before the norms.
        weight: (2, H) of the norms.
        kept: (N,) 0 where an episode begins.
        delta: (N, 2, H) gradient of `read`, written.
        joint: (N, STRIDE) the same of what is kept, written: of the latent, then of the state.
        dweight: (N, 2, H) what each row says of the weights, written.
        N: Rows.
        PART: See `parts`.
        STRIDE: See `joint`.
        EPS: Of the norms.
        G: Blocks of the state.
        H: Numbers that are read of each.
        BLOCK: A power of two, H at least.
    """
    n = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1)
    h = tl.arange(0, BLOCK)
    inside = h < H
    grad = sum_parts(parts + n * PART + r * H + h, inside, N * PART, G, BLOCK)
    at = (n * 2 + r) * H + h
    row = tl.load(read + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + r * H + h, mask=inside, other=0.0).to(tl.float32)
    of_x, of_weight = norm_silu_back(row, w, grad, H, EPS)
    tl.store(delta + at, of_x, mask=inside)
    of_x *= tl.load(kept + n).to(tl.float32)
    tl.store(joint + n * STRIDE + (1 - r) * H + h, of_x, mask=inside)
    tl.store(dweight + at, of_weight, mask=inside)
