"""The update that works for every agent: minibatch by minibatch, through the agent's losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from agents.update_report import UpdateLosses, UpdateReport
from utils.optimization import clip_and_step
from utils.rollouts import Minibatch


def walk_minibatches(
    minibatches: Iterable[Minibatch],
    *,
    write_gradients: Callable[[Minibatch], UpdateLosses],
    diagnose: Callable[[dict[str, Tensor]], dict[str, float]],
    optimizer: torch.optim.Optimizer,
    parameters: list[nn.Parameter],
    max_grad_norm: float | None,
) -> UpdateReport:
    """Take one optimiser step for each minibatch.

    Args:
        minibatches: At least one.
        write_gradients: Writes the gradient of a minibatch's loss into `parameters`.
        diagnose: Turns the samples of all minibatches, (n,) each, into metrics of the update.
        optimizer: Holds `parameters`; its learning rate is set.
        parameters: What is learnt.
        max_grad_norm: See `clip_and_step`.
    """
    rows: list[Tensor] = []
    norms: list[Tensor] = []
    samples: list[dict[str, Tensor]] = []
    keys: tuple[str, ...] = ()
    for minibatch in minibatches:
        losses = write_gradients(minibatch)
        keys = tuple(losses.metrics)
        samples.append(losses.samples)
        rows.append(torch.stack(tuple(losses.metrics.values())).detach())
        if losses.stops_update:
            break
        norms.append(clip_and_step(optimizer, parameters, max_grad_norm=max_grad_norm))
    return UpdateReport(
        keys=keys,
        rows=torch.stack(rows),
        norms=torch.stack(norms) if norms else rows[0].new_zeros((0, len(parameters))),
        summary=diagnose({name: torch.cat([s[name] for s in samples]) for name in samples[0]}),
    )
