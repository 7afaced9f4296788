"""The cross-entropy method: draw plans, keep the best, draw again around what those agree on."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.planning.plan import (
    Bounds,
    Evaluate,
    Plan,
    Stage,
    Watch,
    draw_candidates,
    pick_candidates,
)

_LEAST_VARIANCE = 1e-6


@torch.no_grad()
def plan_by_elites(
    evaluate: Evaluate,
    start: Plan,
    bounds: Bounds,
    *,
    n_candidates: int,
    n_elites: int,
    n_iterations: int,
    generator: torch.Generator,
) -> tuple[Plan, Tensor]:
    """Improve plans of N environments at once.

    Hafner et al. 2019, "Learning latent dynamics for planning from pixels", algorithm 2. Shapes
    depend on no data and nothing is read back, so that a CUDA graph can capture all of it.

    Args:
        evaluate: The model: sequences of actions -> the returns they promise.
        start: See `first_plan` and `shift_plan`.
        bounds: Of actions.
        n_candidates: Plans drawn in each iteration, for each environment (K).
        n_elites: How many of them the next ones are drawn after, 1 to K.
        n_iterations: How often, >= 1.
        generator: Draws the plans; on the device of `start`.

    Returns:
        The plans, and the mean return of the last elites (N,).
    """
    assert n_iterations >= 1, n_iterations
    n_steps, n, size = start.mean.shape
    plan, promised = start, start.mean.new_zeros(n)
    for _ in range(n_iterations):
        noise = torch.randn(
            (n_steps, n, n_candidates, size), generator=generator, device=start.mean.device
        )
        plan, promised = follow_elites(evaluate, plan, noise, bounds, n_elites=n_elites)
    return plan, promised


def follow_elites(
    evaluate: Evaluate,
    plan: Plan,
    noise: Tensor,
    bounds: Bounds,
    *,
    n_elites: int,
    watch: Watch | None = None,
) -> tuple[Plan, Tensor]:
    """Make one iteration: mean and deviation of the candidates with the highest returns.

    Differs: a return that is no number counts as the lowest; and the deviation is the standard one
    and never 0, as in the authors' code, where the algorithm as printed has the mean absolute one.

    Args:
        evaluate: See `plan_by_elites`.
        plan: What candidates are drawn from.
        noise: (H, N, K, A) of a standard normal distribution.
        bounds: Of actions.
        n_elites: How many candidates count, 1 to K.
        watch: Is told how it went; None where nobody looks.

    Returns:
        The next plan, and the mean return of the elites (N,).
    """
    n, n_candidates = noise.shape[1:3]
    assert 1 <= n_elites <= n_candidates, (n_elites, n_candidates)
    candidates = draw_candidates(plan, noise, bounds)
    returns = evaluate(candidates)
    assert returns.shape == (n, n_candidates), (returns.shape, noise.shape)
    returns = torch.nan_to_num(returns.float(), nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)
    best = returns.topk(n_elites, dim=1, sorted=False)
    elites = pick_candidates(candidates, best.indices)
    variance, mean = torch.var_mean(elites, dim=2, correction=0)
    found = Plan(mean, (variance + _LEAST_VARIANCE).sqrt())
    if watch is not None:
        values, order = best.values.sort(dim=1, descending=True)
        scores = torch.full_like(values, 1.0 / n_elites)
        chosen = pick_candidates(elites, order)
        index = best.indices.gather(1, order)
        watch(Stage(returns, chosen, index, values, scores, found.mean, found.std))
    return found, best.values.mean(dim=1)
