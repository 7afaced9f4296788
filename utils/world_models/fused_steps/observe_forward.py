"""The way forward of `ObserveFused`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from utils.world_models.fused_steps import launches
from utils.world_models.observe_forward import Weights, blocks_of


class FusedRecord(NamedTuple):
    """All that the way back needs, of T steps of B sequences."""

    state: Tensor
    """(T + 1, B, D + W): what was before the first step, and the state of each."""
    read: Tensor
    """(T, B, 2, H) before the norm."""
    read_active: Tensor
    """(T, B, 2, H) after the activation."""
    mixed: Tensor
    """(T, B, D); then the same two of it."""
    mixed_active: Tensor
    gates: Tensor
    """(T, G, B, 3 D / G) products, biases not added."""
    seen: Tensor
    """(T, B, H); then the same two of it."""
    seen_active: Tensor
    logits: Tensor
    """(T, B, W) the posterior's parameters."""


class _Step(NamedTuple):
    """Where one step reads and writes."""

    kept: Tensor
    noise: Tensor
    ready: Tensor
    of_embedding: Tensor
    old_deter: Tensor
    deter: Tensor
    blocks: Tensor
    """`deter` as (G, B, D / G)."""
    stoch: Tensor
    read: Tensor
    read_active: Tensor
    features: Tensor
    """`read_active` as (B, 2 H)."""
    mixed: Tensor
    mixed_active: Tensor
    active_blocks: Tensor
    """`mixed_active` as (G, B, D / G)."""
    gates: Tensor
    seen: Tensor
    seen_active: Tensor
    logits: Tensor


class _Room(NamedTuple):
    """What each step writes anew."""

    parts: Tensor
    """(G, B, D / G + 2 H): what of the state is mixed, what is read, what is seen."""
    shared: Tensor
    """(B, D)"""
    product: Tensor
    """(B, W)"""
    index: Tensor
    """(B, S) int32"""


def go_forward(
    ready: Tensor,
    of_embedding: Tensor,
    kept: Tensor,
    noise: Tensor,
    before: Tensor,
    *,
    share: float,
    weights: Weights,
) -> FusedRecord:
    """Go through the sequences; see `utils.world_models.observe_forward.go_forward`."""
    (B, D), H, G = ready.shape[1:], of_embedding.shape[-1], len(weights.blocks)
    size = D // G
    record = _allocate(ready, of_embedding, before, weights)
    room = _Room(
        parts=ready.new_empty(G, B, size + 2 * H),
        shared=torch.empty_like(ready[0]),
        product=torch.empty_like(record.logits[0]),
        index=torch.empty(noise.shape[1:3], dtype=torch.int32, device=noise.device),
    )
    readers = torch.cat(
        [weights.blocks, *(x.unflatten(0, (G, size)) for x in (weights.deter_in, weights.seen))],
        dim=-1,
    )
    # The first latents need not be one-hot; what is read of them is the only row to be looked up.
    table = torch.mm(record.state[0, :, D:], weights.stoch_in)
    index = torch.arange(B, dtype=torch.int32, device=noise.device).unsqueeze(-1)
    torch.bmm(blocks_of(record.state[0, :, :D], G), readers, out=room.parts)
    later = weights.stoch_in.contiguous()
    for step in _steps(record, ready.contiguous(), of_embedding.contiguous(), kept, noise, G):
        _advance(step, weights, readers, room, table, index)
        launches.see(
            room.parts,
            step.of_embedding,
            weights.seen_norm,
            offset=size + H,
            out=step.seen,
            active=step.seen_active,
        )
        torch.mm(step.seen_active, weights.output, out=room.product)
        launches.draw(
            room.product,
            weights.output_bias,
            step.noise,
            share=share,
            logits=step.logits,
            index=room.index,
            out=step.stoch,
        )
        table, index = later, room.index
    return record


def _advance(
    step: _Step, w: Weights, readers: Tensor, room: _Room, table: Tensor, index: Tensor
) -> None:
    """Write the next states, and all that is read of them."""
    size = step.blocks.shape[-1]
    launches.read(
        room.parts,
        table,
        index,
        step.kept,
        w.read_bias,
        w.read_norm,
        size=size,
        out=step.read,
        active=step.read_active,
    )
    torch.mm(step.features, w.shared, out=room.shared)
    launches.mix(
        room.parts,
        room.shared,
        step.ready,
        step.kept,
        w.mixed_norm,
        size=size,
        out=step.mixed,
        active=step.mixed_active,
    )
    torch.bmm(step.active_blocks, w.gates, out=step.gates)
    launches.open_gates(step.gates, w.gates_bias, step.kept, step.old_deter, out=step.deter)
    torch.bmm(step.blocks, readers, out=room.parts)


def _allocate(ready: Tensor, of_embedding: Tensor, before: Tensor, w: Weights) -> FusedRecord:
    (T, B, D), H, G = ready.shape, of_embedding.shape[-1], len(w.blocks)
    state = ready.new_empty(T + 1, B, before.shape[-1])
    state[0].copy_(before)
    read, mixed, seen = (ready.new_empty(2, T, B, *shape) for shape in ((2, H), (D,), (H,)))
    return FusedRecord(
        state=state,
        read=read[0],
        read_active=read[1],
        mixed=mixed[0],
        mixed_active=mixed[1],
        gates=ready.new_empty(T, G, B, 3 * D // G),
        seen=seen[0],
        seen_active=seen[1],
        logits=ready.new_empty(T, B, before.shape[-1] - D),
    )


def _steps(
    record: FusedRecord,
    ready: Tensor,
    of_embedding: Tensor,
    kept: Tensor,
    noise: Tensor,
    n_blocks: int,
) -> Iterator[_Step]:
    """Cut everything into steps at once."""
    width = record.mixed.shape[-1]
    deter = record.state[..., :width]
    views = _Step(
        kept=kept,
        noise=noise.float().contiguous(),
        ready=ready,
        of_embedding=of_embedding,
        old_deter=deter[:-1],
        deter=deter[1:],
        blocks=blocks_of(deter[1:], n_blocks),
        stoch=record.state[1:, :, width:],
        read=record.read,
        read_active=record.read_active,
        features=record.read_active.flatten(-2),
        mixed=record.mixed,
        mixed_active=record.mixed_active,
        active_blocks=blocks_of(record.mixed_active, n_blocks),
        gates=record.gates,
        seen=record.seen,
        seen_active=record.seen_active,
        logits=record.logits,
    )
    return map(_Step._make, zip(*(view.unbind(0) for view in views), strict=True))
