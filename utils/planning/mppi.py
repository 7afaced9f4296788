"""Model predictive path integral planning of sequences of actions, many problems at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from utils.planning.plan import Evaluate, Stage, Watch, pick_candidates


@dataclass(frozen=True, kw_only=True, slots=True)
class PathIntegralSettings:
    """How many sequences are tried, how often, and what becomes of their values."""

    horizon: int
    """Steps of a plan (H)."""
    n_iterations: int
    """Times that candidates are drawn (I)."""
    n_candidates: int
    """Sequences that are tried each time, proposals included (K)."""
    n_elites: int
    """The best of them that count (E)."""
    temperature: float
    """What values are multiplied by before their exponentials weigh the elites."""
    max_std: float
    """Deviation of the candidates at first, and at most."""
    momentum: float = 0.0
    """Share of the last mean in the next one, in [0, 1)."""


class PlanNoise(NamedTuple):
    """All that a plan draws; M is the number of problems, or 1 where all have the same noise."""

    candidates: Tensor
    """(I, H, M, K - P, A) standard normal."""
    choice: Tensor | None = None
    """(M, E) exponential of rate 1, which of the elites is carried out; None takes the best."""
    action: Tensor | None = None
    """(M, A) standard normal, around the action that is carried out; None adds nothing."""


class Planned(NamedTuple):
    """What was planned for N problems."""

    action: Tensor
    """(N, A) what to do now, in [-1, 1]."""
    mean: Tensor
    """(H, N, A) of the last distribution; `shift` makes the next plan's first mean of it."""
    std: Tensor
    """(H, N, A)"""
    elites: Tensor
    """(H, N, E, A) best sequences of the last iteration, the best one first."""
    values: Tensor
    """(N, E) what they are worth."""
    scores: Tensor
    """(N, E) their weights, which sum up to 1."""


def draw_plan_noise(
    settings: PathIntegralSettings,
    *,
    n_problems: int,
    n_proposals: int,
    width: int,
    generator: torch.Generator | None,
    device: torch.device,
    explores: bool,
) -> PlanNoise:
    """Draw what a plan draws.

    Args:
        settings: Of the planner.
        n_problems: Problems, or 1 for noise that all of them share (M).
        n_proposals: Candidates that are given (P).
        width: Numbers of an action (A).
        generator: On `device`; torch's global one if None.
        device: Where to plan.
        explores: Draw which elite is carried out and noise around it as well.
    """
    where = {"generator": generator, "device": device}
    n_drawn = settings.n_candidates - n_proposals
    shape = (settings.n_iterations, settings.horizon, n_problems, n_drawn, width)
    candidates = torch.randn(shape, **where)
    if not explores:
        return PlanNoise(candidates)
    choice = torch.empty((n_problems, settings.n_elites), device=device)
    choice.exponential_(generator=generator)
    return PlanNoise(candidates, choice, torch.randn((n_problems, width), **where))


def shift(mean: Tensor) -> Tensor:
    """Return a plan one step on, (H, N, A): its last step is not yet planned, so 0."""
    return torch.cat([mean[1:], torch.zeros_like(mean[:1])])


def plan(
    evaluate: Evaluate,
    *,
    mean: Tensor,
    proposals: Tensor | None,
    noise: PlanNoise,
    min_std: Tensor | float,
    settings: PathIntegralSettings,
    watch: Watch | None = None,
) -> Planned:
    """Search for the sequences of actions in [-1, 1] that are worth most.

    Williams et al. 2015, "Model predictive path integral control using covariance variable
    importance sampling", as Hansen et al. 2022, "Temporal difference learning for model predictive
    control", algorithm 1 has it: candidates are drawn from a normal distribution and given ones
    stand beside them; the best of both, weighted by ``exp(temperature * value)``, make its next
    mean and deviation (equations 4 and 5). Values that are no numbers count as 0.

    Each problem has a distribution of its own, so that what is planned for one does not depend on
    which others there are. All shapes are fixed, and nothing is drawn here.

    Args:
        evaluate: Actions (H, N, K, A) -> what each sequence is worth, (N, K).
        mean: (H, N, A) at first: zeros, or the last plan's mean, shifted.
        proposals: (H, N, P, A) candidates of every iteration; None for none.
        noise: See `draw_plan_noise`.
        min_std: Least deviation, a number or ().
        settings: Of the planner.
        watch: Is told of every iteration; None where nobody looks.
    """
    n, n_elites = mean.shape[1], settings.n_elites
    assert len(mean) == settings.horizon, (mean.shape, settings)
    assert len(noise.candidates) == settings.n_iterations >= 1, noise.candidates.shape
    mean = mean.unsqueeze(2)
    floor = min_std if isinstance(min_std, Tensor) else torch.full_like(mean, min_std)
    std = torch.full_like(mean, settings.max_std)
    elites = values = scores = mean
    for drawn in noise.candidates:
        actions = torch.addcmul(mean, std, drawn).clamp(-1.0, 1.0)
        if proposals is not None:
            actions = torch.cat([proposals, actions], dim=2)
        worth = evaluate(actions).nan_to_num(0.0)
        assert worth.shape == (n, settings.n_candidates), (worth.shape, n, settings.n_candidates)
        values, best = worth.topk(n_elites, dim=1)
        elites = pick_candidates(actions, best)
        scores = (settings.temperature * values).softmax(dim=1)
        weight = scores.view(1, n, n_elites, 1)
        middle = (weight * elites).sum(dim=2, keepdim=True)
        spread = (weight * (elites - middle).square()).sum(dim=2, keepdim=True).sqrt()
        std = torch.maximum(spread, floor).clamp_max(settings.max_std)
        mean = torch.lerp(middle, mean, settings.momentum) if settings.momentum else middle
        if watch is not None:
            watch(Stage(worth, elites, best, values, scores, mean.squeeze(2), std.squeeze(2)))
    action = carry_out(elites[0], scores, std[0].squeeze(1), noise)
    return Planned(action, mean.squeeze(2), std.squeeze(2), elites, values, scores)


def carry_out(first: Tensor, scores: Tensor, std: Tensor, noise: PlanNoise) -> Tensor:
    """Return the actions to carry out, (N, A): one of the elites' first actions, and noise.

    Args:
        first: (N, E, A) of the elites, the best one first.
        scores: (N, E) their weights.
        std: (N, A) deviation of the noise.
        noise: Without `choice` the best one is taken, without `action` nothing added.
    """
    action = first[:, 0]  # topk sorts
    if noise.choice is not None:
        # The least of exponential numbers over rates is the first event of a race: a draw by rate.
        index = (scores / noise.choice).argmax(dim=1).view(-1, 1, 1)
        action = first.gather(1, index.expand(-1, 1, first.shape[-1])).squeeze(1)
    if noise.action is not None:
        action = action + std * noise.action
    return action.clamp(-1.0, 1.0)
