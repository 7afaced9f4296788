"""The way forward of `observe_written_out`: what depends on the step before, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from utils.world_models.layers import NORM_EPSILON

silu_out = torch.ops.aten.silu.out


class Weights(NamedTuple):
    """What the loop multiplies with, (inputs, outputs), in the dtype of the computation.

    Biases and the weights of norms may be in another one.
    D is the width of states, W that of latents, H that of what is read, G the number of blocks.
    """

    deter_in: Tensor
    """(D, H)"""
    stoch_in: Tensor
    """(W, H)"""
    read_bias: Tensor
    """(2 H,) of both."""
    read_norm: Tensor
    """(2, H)"""
    blocks: Tensor
    """(G, D / G, D / G): each block of the state."""
    shared: Tensor
    """(2 H, D): what was read of state and latent, which every block sees."""
    mixed_norm: Tensor
    """(D,)"""
    gates: Tensor
    """(G, D / G, 3 D / G)"""
    gates_bias: Tensor
    """(3 D,); 1 is already taken from the update's."""
    seen: Tensor
    """(D, H): the state in the posterior."""
    seen_norm: Tensor
    """(H,)"""
    output: Tensor
    """(H, W)"""
    output_bias: Tensor
    """(W,)"""


class Record(NamedTuple):
    """All that the way back needs, of T steps of B sequences."""

    state: Tensor
    """(T + 1, B, D + W): what was before the first step, and the state of each."""
    masked: Tensor
    """(T, B, D + W): the state before each step, zeros where an episode begins."""
    read: Tensor
    """(T, B, 2, H) before the norm."""
    read_scale: Tensor
    """(T, B, 2, 1) of the norm."""
    read_normed: Tensor
    """(T, B, 2, H)"""
    read_active: Tensor
    """(T, B, 2 H) after the activation."""
    mixed: Tensor
    """(T, B, D); then the same four of it."""
    mixed_scale: Tensor
    mixed_normed: Tensor
    mixed_active: Tensor
    gates: Tensor
    """(T, G, B, 3, D / G): reset, candidate and update - 1."""
    opened: Tensor
    """(T, G, B, 2, D / G): sigmoids of reset and update."""
    candidate: Tensor
    """(T, G, B, D / G) after the tangent."""
    seen: Tensor
    """(T, B, H); then the same four of it."""
    seen_scale: Tensor
    seen_normed: Tensor
    seen_active: Tensor
    probability: Tensor
    """(T, B, S, C) without the uniform share."""


class _Step(NamedTuple):
    """Where one step reads and writes."""

    before: Tensor
    kept: Tensor
    masked: Tensor
    deter: Tensor
    deter_blocks: Tensor
    """(G, B, D / G), as all `*_blocks`."""
    stoch: Tensor
    read_deter: Tensor
    read_stoch: Tensor
    read: Tensor
    read_normed: Tensor
    read_active: Tensor
    read_features: Tensor
    """`read_active` as (B, 2 H)."""
    mixed: Tensor
    mixed_blocks: Tensor
    mixed_active: Tensor
    active_blocks: Tensor
    gates: Tensor
    """(G, B, 3 D / G)"""
    reset_and_update: Tensor
    opened: Tensor
    reset: Tensor
    update: Tensor
    raw_candidate: Tensor
    candidate: Tensor
    new_deter: Tensor
    new_blocks: Tensor
    new_stoch: Tensor
    """(B, S, C)"""
    seen: Tensor
    seen_active: Tensor
    logits: Tensor
    logits_of_classes: Tensor
    probability: Tensor
    inverse: Tensor
    offset: Tensor


def go_forward(
    ready: Tensor,
    of_embedding: Tensor,
    kept: Tensor,
    noise: Tensor,
    before: Tensor,
    *,
    share: float,
    weights: Weights,
) -> tuple[Record, Tensor]:
    """Go through the sequences.

    Args:
        ready: (T, B, D) what actions add to the blocks, biases included.
        of_embedding: (T, B, H) what observations add to the posterior, biases included.
        kept: (T, B, 1) 0 where an episode begins.
        noise: (T, B, S, C)
        before: (B, D + W) the state before the first step.
        share: Of the probability that is uniform.
        weights: See there.

    Returns:
        What the way back needs, and the posterior's parameters (T, B, W).
    """
    record, logits = _allocate(ready, of_embedding, noise, before, weights)
    # `CategoricalLatent` draws argmax(((1 - share) p + share / C) / noise).
    inverse = noise.reciprocal()
    offset = inverse * (share / (noise.shape[-1] * (1.0 - share)))
    key, index = torch.empty_like(noise[0]), torch.empty_like(noise[0, ..., :1], dtype=torch.int64)
    scales, normed = [], []
    for step in _steps(record, logits, kept, inverse, offset):
        read_scale, *of_mixed = _advance(step, weights)
        of_seen = _see(step, weights)
        torch.addcmul(step.offset, step.probability, step.inverse, out=key)
        torch.argmax(key, -1, keepdim=True, out=index)
        step.new_stoch.scatter_(-1, index, 1.0)
        scales.append((read_scale, of_mixed[1], of_seen[1]))
        normed.append((of_mixed[0], of_seen[0]))
    read_scale, mixed_scale, seen_scale = (torch.stack(x) for x in zip(*scales, strict=True))
    mixed_normed, seen_normed = (torch.stack(x) for x in zip(*normed, strict=True))
    record = record._replace(
        read_scale=read_scale,
        mixed_scale=mixed_scale,
        mixed_normed=mixed_normed,
        seen_scale=seen_scale,
        seen_normed=seen_normed,
        probability=record.probability.to(ready.dtype),
    )
    return record, logits


def _advance(step: _Step, w: Weights) -> tuple[Tensor, Tensor, Tensor]:
    """Write the next deterministic state; returns what the norms say of themselves."""
    torch.mul(step.before, step.kept, out=step.masked)
    step.read_deter.addmm_(step.deter, w.deter_in)
    step.read_stoch.addmm_(step.stoch, w.stoch_in)
    x, read_scale = torch._fused_rms_norm(step.read, w.read_norm.shape[1:], None, NORM_EPSILON)
    torch.mul(x, w.read_norm, out=step.read_normed)
    silu_out(step.read_normed, out=step.read_active)
    step.mixed.addmm_(step.read_features, w.shared)
    step.mixed_blocks.baddbmm_(step.deter_blocks, w.blocks)
    normed, scale = torch._fused_rms_norm(
        step.mixed, w.mixed_norm.shape, w.mixed_norm, NORM_EPSILON
    )
    silu_out(normed, out=step.mixed_active)
    step.gates.baddbmm_(step.active_blocks, w.gates)
    torch.sigmoid(step.reset_and_update, out=step.opened)
    torch.mul(step.reset, step.raw_candidate, out=step.candidate).tanh_()
    torch.lerp(step.deter_blocks, step.candidate, step.update, out=step.new_blocks)
    return read_scale, normed, scale


def _see(step: _Step, w: Weights) -> tuple[Tensor, Tensor]:
    """Write the posterior's parameters and probabilities; returns what its norm says of itself."""
    step.seen.addmm_(step.new_deter, w.seen)
    normed, scale = torch._fused_rms_norm(step.seen, w.seen_norm.shape, w.seen_norm, NORM_EPSILON)
    silu_out(normed, out=step.seen_active)
    step.logits.addmm_(step.seen_active, w.output)
    torch.softmax(step.logits_of_classes, -1, step.probability.dtype, out=step.probability)
    return normed, scale


def _allocate(
    ready: Tensor, of_embedding: Tensor, noise: Tensor, before: Tensor, w: Weights
) -> tuple[Record, Tensor]:
    """Make room for everything; biases and what is known already lie where products are added."""
    (T, B, D), H, G = ready.shape, of_embedding.shape[-1], len(w.blocks)
    later = ready.new_empty(0)
    state = ready.new_empty(T + 1, B, before.shape[-1])
    state[0].copy_(before)
    state[1:, :, D:].zero_()
    read = w.read_bias.view(2, H).expand(T, B, 2, H).contiguous()
    gates = w.gates_bias.view(G, 1, 3, D // G).expand(T, G, B, 3, D // G).contiguous()
    record = Record(
        state=state,
        masked=torch.empty_like(state[1:]),
        read=read,
        read_scale=later,
        read_normed=torch.empty_like(read),
        read_active=torch.empty_like(read),
        mixed=ready.clone(),
        mixed_scale=later,
        mixed_normed=later,
        mixed_active=torch.empty_like(ready),
        gates=gates,
        opened=torch.empty_like(gates[..., :2, :]),
        candidate=torch.empty_like(gates[..., 0, :]),
        seen=of_embedding.clone(),
        seen_scale=later,
        seen_normed=later,
        seen_active=torch.empty_like(of_embedding),
        probability=torch.empty_like(noise),
    )
    return record, w.output_bias.expand(T, B, -1).contiguous()


def blocks_of(x: Tensor, n_blocks: int) -> Tensor:
    """View (..., B, G * n) as (..., G, B, n)."""
    return x.unflatten(-1, (n_blocks, -1)).transpose(-2, -3)


def _steps(
    record: Record, logits: Tensor, kept: Tensor, inverse: Tensor, offset: Tensor
) -> Iterator[_Step]:
    """Cut everything into steps at once: views are not free where operations are this small."""
    D, G = record.mixed.shape[-1], record.gates.shape[1]
    classes = record.probability.shape[-2:]
    deter, stoch = record.masked[..., :D], record.masked[..., D:]
    new_deter, new_stoch = record.state[1:, :, :D], record.state[1:, :, D:]
    views = _Step(
        before=record.state[:-1],
        kept=kept,
        masked=record.masked,
        deter=deter,
        deter_blocks=blocks_of(deter, G),
        stoch=stoch,
        read_deter=record.read[:, :, 0],
        read_stoch=record.read[:, :, 1],
        read=record.read,
        read_normed=record.read_normed,
        read_active=record.read_active,
        read_features=record.read_active.flatten(-2),
        mixed=record.mixed,
        mixed_blocks=blocks_of(record.mixed, G),
        mixed_active=record.mixed_active,
        active_blocks=blocks_of(record.mixed_active, G),
        gates=record.gates.flatten(-2),
        reset_and_update=record.gates[..., ::2, :],
        opened=record.opened,
        reset=record.opened[..., 0, :],
        update=record.opened[..., 1, :],
        raw_candidate=record.gates[..., 1, :],
        candidate=record.candidate,
        new_deter=new_deter,
        new_blocks=blocks_of(new_deter, G),
        new_stoch=new_stoch.unflatten(-1, classes),
        seen=record.seen,
        seen_active=record.seen_active,
        logits=logits,
        logits_of_classes=logits.unflatten(-1, classes),
        probability=record.probability,
        inverse=inverse,
        offset=offset,
    )
    return map(_Step._make, zip(*(view.unbind(0) for view in views), strict=True))
