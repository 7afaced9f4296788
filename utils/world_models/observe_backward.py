"""The way back of `observe_written_out`: gradients of what products made, then of the weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from utils.world_models.observe_forward import Record, Weights, blocks_of


class Deltas(NamedTuple):
    """Gradients of T steps of B sequences, each of what `Record` calls by the same name."""

    deter: Tensor
    """(T + 1, B, D): the states, that before the first step included."""
    stoch: Tensor
    """(T + 1, B, W)"""
    read_active: Tensor
    read: Tensor
    mixed_active: Tensor
    """(T, G, B, D / G)"""
    mixed: Tensor
    gates: Tensor
    seen_active: Tensor
    seen: Tensor
    logits: Tensor


class _Slope(NamedTuple):
    """How activation and norm pass a gradient on, known for all steps before the first."""

    factor: Tensor
    """Slope of the activation, times weight and scale of the norm."""
    direction: Tensor
    """What the norm made, before its weight: no gradient goes that way."""
    ones: Tensor
    """A scale of the norm that changes nothing; its own is in `factor`."""
    room: Tensor
    """For the gradient times `factor`, of one step; all steps share it."""

    def in_blocks(self, n: int) -> _Slope:
        """Return the same for gradients (..., G, D / G)."""
        factor, room = (x.unflatten(-1, (n, -1)) for x in (self.factor, self.room))
        return self._replace(factor=factor, room=room)


class _Step(NamedTuple):
    """Where one step back reads and writes."""

    kept: Tensor
    deter: Tensor
    """Of the new state; so `stoch`."""
    deter_blocks: Tensor
    """`deter` as (G, B, 1, D / G)."""
    stoch: Tensor
    old_deter: Tensor
    old_stoch: Tensor
    probability: Tensor
    logits: Tensor
    logits_of_classes: Tensor
    seen_active: Tensor
    seen: _Slope
    slope_of_gates: Tensor
    gates: Tensor
    gates_rows: Tensor
    """`gates` as (G, B, 3 D / G)."""
    share_kept: Tensor
    mixed_active: Tensor
    mixed_heads: Tensor
    """`mixed_active` as (B, G, D / G)."""
    mixed: _Slope
    read_active: Tensor
    read_pairs: Tensor
    """`read_active` as (B, 2, H)."""
    read: _Slope


def go_back(
    record: Record,
    kept: Tensor,
    of_deter: Tensor,
    of_stoch: Tensor,
    of_logits: Tensor,
    *,
    share: float,
    weights: Weights,
) -> Deltas:
    """Go back through the sequences.

    Args:
        record: Of the way forward.
        kept: (T, B, 1) 0 where an episode begins.
        of_deter: (T, B, D) gradient of the states from outside.
        of_stoch: (T, B, W) that of the latents, which goes straight through to the probabilities.
        of_logits: (T, B, W)
        share: Of the probability that is uniform.
        weights: See there.
    """
    deltas = Deltas(
        deter=torch.cat([torch.zeros_like(of_deter[:1]), of_deter]),
        stoch=torch.cat([torch.zeros_like(of_stoch[:1]), of_stoch]),
        read_active=torch.empty_like(record.read_active),
        read=record.read,
        mixed_active=torch.empty_like(record.candidate),
        mixed=record.mixed,
        gates=torch.empty_like(record.gates),
        seen_active=torch.empty_like(record.seen_active),
        seen=record.seen,
        logits=of_logits.clone(memory_format=torch.contiguous_format),
    )
    through_deter, through_stoch = torch.empty_like(of_deter[0]), torch.empty_like(of_stoch[0])
    through_blocks = blocks_of(through_deter, len(weights.blocks))
    back = Weights(*(x.transpose(-1, -2) if x.ndim > 1 else x for x in weights))
    seen, mixed, read = [], [], []
    for step in _steps(record, deltas, kept, weights):
        seen.append(_back_through_posterior(step, back, 1.0 - share))
        mixed.append(_back_through_gates(step, back))
        torch.mul(step.deter, step.share_kept, out=through_deter)
        torch.mm(mixed[-1], back.shared, out=step.read_active)
        read.append(_through_norm(step.read_pairs, step.read))
        through_blocks.baddbmm_(blocks_of(mixed[-1], len(weights.blocks)), back.blocks)
        through_deter.addmm_(read[-1][:, 0], back.deter_in)
        torch.mm(read[-1][:, 1], back.stoch_in, out=through_stoch)
        step.old_deter.addcmul_(through_deter, step.kept)
        step.old_stoch.addcmul_(through_stoch, step.kept)
    stacked = (torch.stack(x[::-1]) for x in (seen, mixed, read))
    return deltas._replace(**dict(zip(("seen", "mixed", "read"), stacked, strict=True)))


def _back_through_posterior(step: _Step, back: Weights, certain: float) -> Tensor:
    """Add to the gradient of the new state; returns that of what the posterior's norm read."""
    straight = torch._softmax_backward_data(
        step.stoch, step.probability, -1, step.probability.dtype
    )
    step.logits_of_classes.add_(straight, alpha=certain)
    torch.mm(step.logits, back.output, out=step.seen_active)
    seen = _through_norm(step.seen_active, step.seen)
    step.deter.addmm_(seen, back.seen)
    return seen


def _back_through_gates(step: _Step, back: Weights) -> Tensor:
    """Return the gradient of what the norm before the gates read."""
    torch.mul(step.deter_blocks, step.slope_of_gates, out=step.gates)
    torch.bmm(step.gates_rows, back.gates, out=step.mixed_active)
    return _through_norm(step.mixed_heads, step.mixed)


def _through_norm(grad: Tensor, slope: _Slope) -> Tensor:
    """Return ``g - d mean(g d)``, ``g = grad * factor``, d the direction."""
    grad = torch.mul(grad, slope.factor, out=slope.room).view(slope.direction.shape)
    n = grad.shape[-1]
    if grad.is_cuda:
        passed: Tensor = torch.ops.aten._fused_rms_norm_backward(
            grad, slope.direction, [n], slope.ones, None, [True, False]
        )[0]
        return passed
    along = torch.linalg.vecdot(grad, slope.direction).unsqueeze(-1)
    return torch.addcmul(grad, slope.direction, along, value=-1.0 / n)


def _slope(x: Tensor, scale: Tensor, normed: Tensor, weight: Tensor) -> _Slope:
    factor = torch.ops.aten.silu_backward(weight.expand_as(normed), normed)
    of_dtype = scale.to(x.dtype)
    room = torch.empty_like(factor[0]).expand_as(factor)
    return _Slope(factor.mul_(of_dtype), x * of_dtype, torch.ones_like(scale), room)


def _slope_of_gates(record: Record) -> tuple[Tensor, Tensor]:
    """Return what a new state's gradient is multiplied with.

    ``h = u c + (1 - u) h'``, ``c = tanh(r a)``, ``r = sigmoid(reset)``, ``u = sigmoid(update)``:
    ``dh / da = u (1 - c^2) r``, ``dh / dreset = u (1 - c^2) a r (1 - r)``,
    ``dh / dupdate = (c - h') u (1 - u)``, ``dh / dh' = 1 - u``.

    Returns:
        Slopes of reset, candidate and update (T, G, B, 3, D / G), and that of h' (T, B, D).
    """
    reset, update = record.opened.unbind(-2)
    raw, c = record.gates[..., 1, :], record.candidate
    kept = 1.0 - update
    slope = torch.empty_like(record.gates)
    of_candidate = slope[..., 1, :]
    torch.mul(torch.addcmul(torch.ones_like(c), c, c, value=-1.0), update, out=of_candidate)
    of_candidate.mul_(reset)
    torch.mul(of_candidate, raw, out=slope[..., 0, :]).mul_(1.0 - reset)
    old = blocks_of(record.masked[..., : record.mixed.shape[-1]], c.shape[1])
    torch.sub(c, old, out=slope[..., 2, :]).mul_(update).mul_(kept)
    return slope, kept.transpose(1, 2).flatten(-2)


def _steps(record: Record, deltas: Deltas, kept: Tensor, w: Weights) -> Iterator[_Step]:
    """Cut everything into steps, the last one first."""
    G = len(w.blocks)
    slope, share_kept = _slope_of_gates(record)
    slopes = [
        _slope(record.seen, record.seen_scale, record.seen_normed, w.seen_norm),
        _slope(record.mixed, record.mixed_scale, record.mixed_normed, w.mixed_norm).in_blocks(G),
        _slope(record.read, record.read_scale, record.read_normed, w.read_norm),
    ]
    seen, mixed, read = (map(_Slope._make, zip(*(_cut(x) for x in s), strict=True)) for s in slopes)
    classes = record.probability.shape[-2:]
    views = (
        _cut(kept),
        _cut(deltas.deter[1:]),
        _cut(blocks_of(deltas.deter[1:], G).unsqueeze(-2)),
        _cut(deltas.stoch[1:].unflatten(-1, classes)),
        _cut(deltas.deter[:-1]),
        _cut(deltas.stoch[:-1]),
        _cut(record.probability),
        _cut(deltas.logits),
        _cut(deltas.logits.unflatten(-1, classes)),
        _cut(deltas.seen_active),
        seen,
        _cut(slope),
        _cut(deltas.gates),
        _cut(deltas.gates.flatten(-2)),
        _cut(share_kept),
        _cut(deltas.mixed_active),
        _cut(deltas.mixed_active.transpose(1, 2)),
        mixed,
        _cut(deltas.read_active.flatten(-2)),
        _cut(deltas.read_active),
        read,
    )
    return map(_Step._make, zip(*views, strict=True))


def _cut(x: Tensor) -> tuple[Tensor, ...]:
    return x.unbind(0)[::-1]


def weight_gradients(record: Record, deltas: Deltas, weights: Weights) -> Weights:
    """Return the gradient of every weight: a product over all steps of all sequences each."""
    D, G = record.mixed.shape[-1], len(weights.blocks)
    old_deter, old_stoch = (x.flatten(0, 1) for x in record.masked.tensor_split([D], dim=-1))
    new_deter = record.state[1:, :, :D].flatten(0, 1)
    read, mixed, seen = (x.flatten(0, 1) for x in (deltas.read, deltas.mixed, deltas.seen))
    logits = deltas.logits.flatten(0, 1)
    gates = deltas.gates.flatten(-2).transpose(0, 1).flatten(1, 2)
    return Weights(
        deter_in=old_deter.t() @ read[:, 0],
        stoch_in=old_stoch.t() @ read[:, 1],
        read_bias=read.flatten(1).sum(0),
        read_norm=_norm_gradient(
            deltas.read_active, record.read_normed, record.read, record.read_scale
        ),
        blocks=blocks_of(old_deter, G).transpose(1, 2) @ blocks_of(mixed, G),
        shared=record.read_active.flatten(2).flatten(0, 1).t() @ mixed,
        mixed_norm=_norm_gradient(
            deltas.mixed_active.transpose(1, 2).flatten(-2),
            record.mixed_normed,
            record.mixed,
            record.mixed_scale,
        ),
        gates=blocks_of(record.mixed_active.flatten(0, 1), G).transpose(1, 2) @ gates,
        gates_bias=gates.sum(1).flatten(),
        seen=new_deter.t() @ seen,
        seen_norm=_norm_gradient(
            deltas.seen_active, record.seen_normed, record.seen, record.seen_scale
        ),
        output=record.seen_active.flatten(0, 1).t() @ logits,
        output_bias=logits.sum(0),
    )


def _norm_gradient(active: Tensor, normed: Tensor, x: Tensor, scale: Tensor) -> Tensor:
    grad = torch.ops.aten.silu_backward(active.view_as(normed), normed)
    return (grad * (x * scale.to(x.dtype))).sum((0, 1))
