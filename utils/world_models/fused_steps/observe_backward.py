"""The way back of `ObserveFused`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
import triton
from torch import Tensor

from utils.models.triton_support import assert_dense
from utils.world_models.fused_steps.arithmetic import warps_of
from utils.world_models.fused_steps.backward_kernels import (
    draw_back_kernel,
    gate_back_kernel,
    norm_back_kernel,
    read_back_kernel,
)
from utils.world_models.fused_steps.launches import DRAWN_AT_ONCE, numbers_at_once
from utils.world_models.fused_steps.observe_forward import FusedRecord
from utils.world_models.layers import NORM_EPSILON
from utils.world_models.observe_forward import Weights, blocks_of


class FusedDeltas(NamedTuple):
    """Gradients of T steps of B sequences, each of what `FusedRecord` calls by the same name."""

    joint: Tensor
    """(T + 1, B, 3 H): of what was read of latent and state at each step, if they were kept, and of
    what the step before saw. So whoever reads one state lies in one row."""
    read: Tensor
    """(T, B, 2, H)"""
    mixed: Tensor
    """(T, B, D)"""
    gates: Tensor
    """(G, T, B, 3 D / G)"""
    logits: Tensor
    """(T, B, W)"""
    read_norm: Tensor
    """(T, B, 2, H) what each row says of the weight of the norm; so the two that follow."""
    mixed_norm: Tensor
    seen_norm: Tensor
    carried: Tensor
    """(B, D) float32, of what was before the first step, by the gates."""
    parts: Tensor
    """(G, B, 2 H + D / G) of the first step: of what is read, and of the blocks before it."""
    through: Tensor
    """(B, W) of the latents before the first step."""

    @property
    def seen(self) -> Tensor:
        """Of what is seen, (T, B, H)."""
        return self.joint[1:, :, -self.seen_norm.shape[-1] :]

    def of_before(self, kept: Tensor, weights: Weights) -> Tensor:
        """Return the gradient of what was before the first step, (B, D + W).

        Args:
            kept: (B, 1) of the first step.
            weights: Of the way forward.
        """
        width = self.seen_norm.shape[-1]
        by_blocks = self.parts[..., 2 * width :].transpose(0, 1).flatten(1)
        deter = (self.carried + by_blocks) * kept
        deter += self.joint[0, :, width : 2 * width] @ weights.deter_in.t()
        return torch.cat([deter.to(self.through.dtype), self.through], dim=-1)


class _Step(NamedTuple):
    """Where one step back reads and writes."""

    kept: Tensor
    kept_next: Tensor
    old: Tensor
    """(B, D + W)"""
    of_deter: Tensor
    of_stoch: Tensor
    of_logits: Tensor
    read: Tensor
    mixed: Tensor
    gates: Tensor
    seen: Tensor
    logits: Tensor
    d_logits: Tensor
    d_seen: Tensor
    """The last part of the joint row of the state that was seen."""
    d_readers: Tensor
    """(B, 2 H): the last two parts of that row."""
    d_gates: Tensor
    """(G, B, 3 D / G)"""
    d_mixed: Tensor
    mixed_blocks: Tensor
    """`d_mixed` as (G, B, D / G)."""
    d_read: Tensor
    d_joint: Tensor
    """The joint row of the state before."""
    d_latent: Tensor
    """The first part of it."""
    seen_norm: Tensor
    mixed_norm: Tensor
    read_norm: Tensor


class _Room(NamedTuple):
    """What each step writes anew."""

    active: Tensor
    """(B, H)"""
    deter: Tensor
    """(B, D)"""
    blocks: Tensor
    """(G, B, D / G)"""


def go_back(
    record: FusedRecord,
    kept: Tensor,
    of_deter: Tensor,
    of_stoch: Tensor,
    of_logits: Tensor,
    *,
    n_classes: int,
    share: float,
    weights: Weights,
) -> FusedDeltas:
    """Go back through the sequences; see `utils.world_models.observe_backward.go_back`."""
    w, G = weights, len(weights.blocks)
    (B, D), W = record.mixed.shape[1:], record.logits.shape[-1]
    deltas = _allocate(record, G)
    room = _Room(
        active=torch.empty_like(record.seen[0]),
        deter=torch.empty_like(record.mixed[0]),
        blocks=record.mixed.new_empty(G, B, D // G),
    )
    output, gates, stoch_in = w.output.t(), w.gates.transpose(1, 2), w.stoch_in.t()
    readers = torch.cat([w.deter_in, w.seen], dim=1).t()
    mixers = torch.cat([w.shared.t().unflatten(0, (G, -1)), w.blocks.transpose(1, 2)], dim=-1)
    of_outside = [x.contiguous() for x in (of_deter, of_stoch, of_logits)]
    for step in _steps(record, deltas, kept, *of_outside):
        _back_through_draw(step, deltas.through, certain=1.0 - share, shape=(W, n_classes))
        torch.mm(step.d_logits, output, out=room.active)
        _back_through_norm(room.active, step.seen, w.seen_norm, step.d_seen, step.seen_norm)
        torch.mm(step.d_readers, readers, out=room.deter)
        _back_through_gates(step, room.deter, deltas, w.gates_bias)
        torch.bmm(step.d_gates, gates, out=room.blocks)
        _back_through_norm(room.blocks, step.mixed, w.mixed_norm, step.d_mixed, step.mixed_norm)
        torch.bmm(step.mixed_blocks, mixers, out=deltas.parts)
        _back_through_read(step, deltas.parts, w.read_norm)
        torch.mm(step.d_latent, stoch_in, out=deltas.through)
    return deltas


def _back_through_draw(
    step: _Step, through: Tensor, *, certain: float, shape: tuple[int, int]
) -> None:
    width, n_classes = shape
    assert_dense(step.logits, step.of_logits, step.of_stoch, through, step.d_logits)
    total = len(through) * width // n_classes
    block = triton.next_power_of_2(n_classes)
    at_once = max(1, DRAWN_AT_ONCE // block)
    draw_back_kernel[(triton.cdiv(total, at_once),)](
        step.logits,
        step.of_logits,
        step.of_stoch,
        through,
        step.d_logits,
        total,
        certain,
        C=n_classes,
        R=at_once,
        BLOCK=block,
        num_warps=1,
    )


def _back_through_norm(dy: Tensor, x: Tensor, weight: Tensor, dx: Tensor, dweight: Tensor) -> None:
    """Write `dx` and `dweight`, given `dy` as (B, W), or (G, B, W / G)."""
    n_rows, width = x.shape
    assert dx.stride(1) == 1, dx.stride()
    assert_dense(dy, x, weight, dweight)
    block = triton.next_power_of_2(width)
    norm_back_kernel[(n_rows,)](
        dy,
        x,
        weight,
        dx,
        dweight,
        n_rows,
        dx.stride(0),
        NORM_EPSILON,
        WIDTH=width,
        SIZE=dy.shape[-1],
        BLOCK=block,
        num_warps=warps_of(block),
    )


def _back_through_gates(step: _Step, product: Tensor, deltas: FusedDeltas, bias: Tensor) -> None:
    n_rows, width = product.shape
    strides = step.old.stride(), step.d_gates.stride()
    assert strides[0][1] == strides[1][2] == 1, strides
    assert_dense(step.of_deter, product, deltas.carried, deltas.parts, step.gates, bias)
    assert_dense(step.kept, step.kept_next, step.d_gates[0])
    block = numbers_at_once(n_rows, width)
    size, part = width // len(deltas.parts), deltas.parts.shape[-1]
    gate_back_kernel[(n_rows, triton.cdiv(width, block))](
        step.of_deter,
        product,
        deltas.carried,
        deltas.parts,
        step.kept_next,
        step.gates,
        bias,
        step.kept,
        step.old,
        step.d_gates,
        n_rows,
        part,
        part - size,
        step.old.stride(0),
        step.d_gates.stride(0),
        D=width,
        SIZE=size,
        BLOCK=block,
        num_warps=warps_of(block),
    )


def _back_through_read(step: _Step, parts: Tensor, weight: Tensor) -> None:
    n_rows, _, width = step.read.shape
    assert step.d_joint.stride(1) == 1, step.d_joint.stride()
    assert_dense(parts, step.read, weight, step.kept, step.d_read, step.read_norm)
    block = triton.next_power_of_2(width)
    read_back_kernel[(n_rows, 2)](
        parts,
        step.read,
        weight,
        step.kept,
        step.d_read,
        step.d_joint,
        step.read_norm,
        n_rows,
        parts.shape[-1],
        step.d_joint.stride(0),
        NORM_EPSILON,
        G=len(parts),
        H=width,
        BLOCK=block,
        num_warps=warps_of(block),
    )


def _allocate(record: FusedRecord, n_blocks: int) -> FusedDeltas:
    T, B, _, H = record.read.shape
    D = record.mixed.shape[-1]
    like = record.mixed
    # Nothing comes from beyond the last step, and no step saw what was before the first one.
    return FusedDeltas(
        joint=like.new_zeros(T + 1, B, 3 * H),
        read=torch.empty_like(record.read),
        mixed=torch.empty_like(record.mixed),
        gates=like.new_empty(n_blocks, T, B, 3 * D // n_blocks),
        logits=torch.empty_like(record.logits),
        read_norm=torch.empty_like(record.read),
        mixed_norm=torch.empty_like(record.mixed),
        seen_norm=torch.empty_like(record.seen),
        carried=like.new_zeros(B, D, dtype=torch.float32),
        parts=like.new_zeros(n_blocks, B, 2 * H + D // n_blocks),
        through=torch.zeros_like(record.logits[0]),
    )


def _steps(
    record: FusedRecord,
    deltas: FusedDeltas,
    kept: Tensor,
    of_deter: Tensor,
    of_stoch: Tensor,
    of_logits: Tensor,
) -> Iterator[_Step]:
    """Cut everything into steps, the last one first."""
    H, G = deltas.seen_norm.shape[-1], len(deltas.gates)
    old, new = deltas.joint[:-1], deltas.joint[1:]
    views = _Step(
        kept=kept,
        kept_next=kept,
        old=record.state[:-1],
        of_deter=of_deter,
        of_stoch=of_stoch,
        of_logits=of_logits,
        read=record.read,
        mixed=record.mixed,
        gates=record.gates,
        seen=record.seen,
        logits=record.logits,
        d_logits=deltas.logits,
        d_seen=new[..., 2 * H :],
        d_readers=new[..., H:],
        d_gates=deltas.gates.transpose(0, 1),
        d_mixed=deltas.mixed,
        mixed_blocks=blocks_of(deltas.mixed, G),
        d_read=deltas.read,
        d_joint=old,
        d_latent=old[..., :H],
        seen_norm=deltas.seen_norm,
        mixed_norm=deltas.mixed_norm,
        read_norm=deltas.read_norm,
    )
    later = kept[-1]  # of the step beyond the last one, from which nothing comes
    for parts in zip(*(view.unbind(0)[::-1] for view in views), strict=True):
        step = _Step(*parts)._replace(kept_next=later)
        later = step.kept
        yield step


def weight_gradients(
    record: FusedRecord, deltas: FusedDeltas, kept: Tensor, weights: Weights
) -> Weights:
    """Return the gradient of every weight: a product over all steps of all sequences each."""
    D, G = record.mixed.shape[-1], len(weights.blocks)
    H = deltas.seen_norm.shape[-1]
    deter, stoch = (x.flatten(0, 1) for x in record.state.tensor_split([D], dim=-1))
    of_latent, of_readers = (x.flatten(0, 1) for x in deltas.joint.tensor_split([H], dim=-1))
    deter_in, seen = (deter.t() @ of_readers).split(H, dim=1)
    masked = (record.state[:-1, :, :D] * kept).flatten(0, 1)
    mixed, logits = deltas.mixed.flatten(0, 1), deltas.logits.flatten(0, 1)
    gates = deltas.gates.flatten(1, 2)
    whole = weights.read_bias.dtype
    return Weights(
        deter_in=deter_in,
        stoch_in=stoch.t() @ of_latent,
        read_bias=deltas.read.flatten(2).sum((0, 1), dtype=whole),
        read_norm=deltas.read_norm.sum((0, 1), dtype=whole),
        blocks=blocks_of(masked, G).transpose(1, 2) @ blocks_of(mixed, G),
        shared=record.read_active.flatten(2).flatten(0, 1).t() @ mixed,
        mixed_norm=deltas.mixed_norm.sum((0, 1), dtype=whole),
        gates=blocks_of(record.mixed_active.flatten(0, 1), G).transpose(1, 2) @ gates,
        gates_bias=gates.sum(1, dtype=whole).flatten(),
        seen=seen,
        seen_norm=deltas.seen_norm.sum((0, 1), dtype=whole),
        output=record.seen_active.flatten(0, 1).t() @ logits,
        output_bias=logits.sum(0, dtype=whole),
    )
