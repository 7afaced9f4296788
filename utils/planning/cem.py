"""The cross-entropy method for sequences of actions, many problems at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def plan(
    evaluate: Callable[[Tensor], Tensor],
    *,
    shape: tuple[int, int, int],
    n_iterations: int,
    n_candidates: int,
    n_elites: int,
    generator: torch.Generator | None,
    device: torch.device,
) -> Tensor:
    """Search for the sequences of actions in [-1, 1] that are worth most, (H, N, A).

    Hafner et al. 2019, "Learning latent dynamics for planning from pixels", algorithm 2: candidates
    are drawn from a normal distribution, at first of mean 0 and deviation 1, and cut off at -1 and
    1; the mean and the deviation of the best of them are those of the next. Every problem has
    a distribution of its own, and all have the same noise, so that what is planned for one does not
    depend on how many others there are.

    Args:
        evaluate: Actions (H, N, K, A) -> what each sequence is worth, (N, K).
        shape: Steps (H), problems (N), and numbers of an action (A).
        n_iterations: Times that candidates are drawn, >= 1.
        n_candidates: Sequences that are tried each time (K).
        n_elites: The best of them that count, fewer than K.
        generator: Of the candidates, on `device`; torch's global one if None.
        device: Where to plan.

    Returns:
        The last mean.
    """
    horizon, n, width = shape
    assert n_iterations >= 1, n_iterations
    assert 1 <= n_elites < n_candidates, (n_elites, n_candidates)
    mean = torch.zeros((horizon, n, 1, width), device=device)
    std = torch.ones_like(mean)
    for _ in range(n_iterations):
        noise = torch.randn((horizon, 1, n_candidates, width), generator=generator, device=device)
        actions = torch.addcmul(mean, std, noise).clamp(-1.0, 1.0)
        worth = evaluate(actions)
        assert worth.shape == (n, n_candidates), (worth.shape, n, n_candidates)
        best = worth.topk(n_elites, dim=1).indices.view(1, n, n_elites, 1)
        elites = actions.gather(2, best.expand(horizon, n, n_elites, width))
        mean = elites.mean(dim=2, keepdim=True)
        std = elites.std(dim=2, keepdim=True, correction=0)
    return mean.squeeze(2)
