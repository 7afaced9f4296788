"""One update by several processes: each has a part of every minibatch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from agents.update_report import UpdateLosses, UpdateReport
from utils.optimization import clip_and_step
from utils.optimization.layout import lay_like
from utils.rollouts import Minibatch

if TYPE_CHECKING:
    from agents.shared_rollouts import SharePart
    from utils.distributed.team import Team


def walk_parts(
    parts: Iterable[SharePart],
    team: Team,
    *,
    write_gradients: Callable[[Minibatch], UpdateLosses],
    diagnose: Callable[[dict[str, Tensor]], dict[str, float]],
    optimizer: torch.optim.Optimizer,
    parameters: list[nn.Parameter],
    max_grad_norm: float | None,
) -> UpdateReport:
    """Take the optimiser steps that `walk_minibatches` takes in one process.

    A loss is a mean over samples, so the gradient of a whole minibatch is the mean of the parts'
    gradients weighted by their samples. Gradients are joined before they are clipped.

    Args:
        parts: This process's part of each minibatch, at least one.
        team: The processes.
        write_gradients: Writes the gradient of a part's loss into `parameters`; what it says of
            leaving the update is the same in all processes.
        diagnose: Turns the samples of all minibatches, (n,) each, into means over them.
        optimizer: Holds `parameters`; its learning rate is set.
        parameters: What is learnt.
        max_grad_norm: See `clip_and_step`.
    """
    rows: list[Tensor] = []
    norms: list[Tensor] = []
    samples: list[dict[str, Tensor]] = []
    keys: tuple[str, ...] = ()
    for part in parts:
        losses = write_gradients(part.minibatch)
        keys = tuple(losses.metrics)
        weight = part.n_own / part.n_all
        if part.n_own:
            samples.append(losses.samples)
        rows.append(torch.stack(tuple(losses.metrics.values())).detach() * weight)
        if losses.stops_update:
            break
        average_gradients(parameters, team, weight=weight)
        norms.append(clip_and_step(optimizer, parameters, max_grad_norm=max_grad_norm))
    table = torch.stack(rows)
    team.sum_(table)
    return UpdateReport(
        keys=keys,
        rows=table,
        norms=torch.stack(norms) if norms else table.new_zeros((0, len(parameters))),
        summary=_summary(samples, team, diagnose),
    )


def average_gradients(parameters: list[nn.Parameter], team: Team, *, weight: float) -> None:
    """Replace the gradients by the sum over the processes of `weight` times their own, in place."""
    gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients]).mul_(weight)
    team.sum_(flat)
    for parameter, part in zip(parameters, flat.split([g.numel() for g in gradients]), strict=True):
        parameter.grad = lay_like(part.view_as(parameter), parameter)


def _summary(
    samples: list[dict[str, Tensor]],
    team: Team,
    diagnose: Callable[[dict[str, Tensor]], dict[str, float]],
) -> dict[str, float]:
    """Return the means over the samples of all processes."""
    told: tuple[int, dict[str, float]] = (0, {})
    if samples and samples[0]:
        joined = {name: torch.cat([part[name] for part in samples]) for name in samples[0]}
        told = len(next(iter(joined.values()))), diagnose(joined)
    of_all = team.gather(told)
    n = sum(count for count, _ in of_all)
    keys = [key for _, means in of_all for key in means]
    return {key: sum(c * means[key] for c, means in of_all if c) / n for key in dict.fromkeys(keys)}
