# ruff: noqa: PLR0913 - kernels have many arguments
"""Kernels of the way forward as functions of tensors; `observe` and `imagine` share them.

Rows N are those of one step; all tensors have their last dimension in a row, and those without
strides of their own in the docstrings are contiguous. G blocks of a state have `size` numbers each.
"""

from __future__ import annotations

import triton
from torch import Tensor

from utils.models.triton_support import assert_dense
from utils.world_models.fused_steps.arithmetic import warps_of
from utils.world_models.fused_steps.forward_kernels import (
    draw_kernel,
    gate_kernel,
    mix_kernel,
    read_kernel,
    see_kernel,
)
from utils.world_models.layers import NORM_EPSILON

LOOKED_UP_AT_ONCE = 4096
"""Numbers of a table."""
DRAWN_AT_ONCE = 256
"""Classes that one program chooses from."""
_FEW_ROWS = 256


def read(
    parts: Tensor,
    table: Tensor,
    index: Tensor,
    kept: Tensor,
    bias: Tensor,
    weight: Tensor,
    *,
    size: int,
    out: Tensor,
    active: Tensor,
    action: Tensor | None = None,
    action_weight: Tensor | None = None,
) -> None:
    """Read states and latents, and actions where they are given; see `read_kernel`.

    Args:
        parts: (G, N, PART) of the states, of which H numbers from `size` on are read.
        table: (S * C, H) what each class of each choice of the latents adds.
        index: (N, S) int32, the classes.
        kept: (N,) 0 where an episode begins.
        bias: (readers, H)
        weight: (readers, H) of the norms.
        size: See above.
        out: (N, readers, H) before the norm, written.
        active: (N, readers, H) after the activation, written.
        action: (N, A) float32
        action_weight: (A, H)
    """
    (n_rows, n_readers, width), (n_blocks, _, part) = out.shape, parts.shape
    assert (n_readers == 3) == (action is not None), n_readers
    assert_dense(parts, table, index, kept, bias, weight, out, active)
    assert_dense(*(x for x in (action, action_weight) if x is not None))
    n_choices = index.shape[1]
    block = triton.next_power_of_2(width)
    chunk = min(max(1, LOOKED_UP_AT_ONCE // block), triton.next_power_of_2(n_choices))
    read_kernel[(n_rows, n_readers)](
        parts,
        table,
        index,
        table if action is None else action,
        table if action_weight is None else action_weight,
        kept,
        bias,
        weight,
        out,
        active,
        n_rows,
        part,
        size,
        NORM_EPSILON,
        A=0 if action is None else action.shape[1],
        G=n_blocks,
        S=n_choices,
        C=1 if n_choices == 1 else len(table) // n_choices,  # no kernel of its own for each N
        H=width,
        CHUNK=chunk,
        BLOCK=block,
        num_warps=4,
    )


def mix(
    parts: Tensor,
    shared: Tensor,
    ready: Tensor,
    kept: Tensor,
    weight: Tensor,
    *,
    size: int,
    out: Tensor,
    active: Tensor,
) -> None:
    """Add up what leads to the gates, norm it and apply SiLU; see `mix_kernel`.

    Args:
        parts: (G, N, PART) of the states, of which the first `size` numbers are read.
        shared: (N, D)
        ready: (N, D), or (D,) for all rows.
        kept: (N,) 0 where an episode begins.
        weight: (D,) of the norm.
        size: See above.
        out: (N, D) before the norm, written; may be `shared`.
        active: (N, D) after the activation, written.
    """
    n_rows, width = out.shape
    assert_dense(parts, shared, ready, kept, weight, out, active)
    block = triton.next_power_of_2(width)
    mix_kernel[(n_rows,)](
        parts,
        shared,
        ready,
        kept,
        weight,
        out,
        active,
        n_rows,
        parts.shape[-1],
        width if ready.ndim == 2 else 0,
        NORM_EPSILON,
        D=width,
        SIZE=size,
        BLOCK=block,
        num_warps=warps_of(block),
    )


def numbers_at_once(n_rows: int, width: int) -> int:
    """Return how many gates a program opens, a power of two: few where there are few rows."""
    return min(256 if n_rows < _FEW_ROWS else 1024, triton.next_power_of_2(width))


def open_gates(gates: Tensor, bias: Tensor, kept: Tensor, old: Tensor, *, out: Tensor) -> None:
    """Write the next states; see `gate_kernel`.

    Args:
        gates: (G, N, 3 * size) products.
        bias: (G * 3 * size,)
        kept: (N,) 0 where an episode begins.
        old: (N, D) with rows of some stride.
        out: (N, D) with rows of the same stride, written.
    """
    n_rows, width = out.shape
    assert old.stride() == out.stride() == (out.stride(0), 1), (old.stride(), out.stride())
    assert_dense(gates, bias, kept)
    block = numbers_at_once(n_rows, width)
    gate_kernel[(n_rows, triton.cdiv(width, block))](
        gates,
        bias,
        kept,
        old,
        out,
        n_rows,
        out.stride(0),
        D=width,
        SIZE=width // len(gates),
        BLOCK=block,
        num_warps=warps_of(block),
    )


def see(
    parts: Tensor,
    ready: Tensor,
    weight: Tensor,
    *,
    offset: int,
    out: Tensor,
    active: Tensor,
) -> None:
    """Add what states say to what is known, norm it and apply SiLU; see `see_kernel`.

    Args:
        parts: (G, N, PART) of the states, of which H numbers from `offset` on are read.
        ready: (N, H), or (H,) for all rows.
        weight: (H,) of the norm.
        offset: See `parts`.
        out: (N, H) before the norm, written.
        active: (N, H) after the activation, written.
    """
    n_rows, width = out.shape
    assert_dense(parts, ready, weight, out, active)
    block = triton.next_power_of_2(width)
    see_kernel[(n_rows,)](
        parts,
        ready,
        weight,
        out,
        active,
        n_rows,
        parts.shape[-1],
        offset,
        width if ready.ndim == 2 else 0,
        NORM_EPSILON,
        G=len(parts),
        H=width,
        BLOCK=block,
        num_warps=warps_of(block),
    )


def draw(
    product: Tensor,
    bias: Tensor,
    noise: Tensor,
    *,
    share: float,
    logits: Tensor,
    index: Tensor,
    out: Tensor,
) -> None:
    """Draw latents; see `draw_kernel`.

    Args:
        product: (N, S * C)
        bias: (S * C,)
        noise: (N, S, C) float32
        share: Of the probability that is uniform.
        logits: (N, S * C) written; may be `product`.
        index: (N, S) int32, the classes, written.
        out: (N, S * C) one-hot, with rows of some stride, written.
    """
    n_rows, n_choices, n_classes = noise.shape
    assert out.stride(1) == 1, out.stride()
    assert_dense(product, bias, noise, logits, index)
    block = triton.next_power_of_2(n_classes)
    at_once = min(max(1, DRAWN_AT_ONCE // block), triton.next_power_of_2(n_choices))
    draw_kernel[(n_rows, triton.cdiv(n_choices, at_once))](
        product,
        bias,
        noise,
        logits,
        index,
        out,
        out.stride(0),
        share,
        S=n_choices,
        C=n_classes,
        R=at_once,
        BLOCK=block,
        num_warps=1,
    )
