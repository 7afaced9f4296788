"""One search for a controller: candidates are asked for, judged and told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from utils.evolution import CmaEs


class Judged(NamedTuple):
    """What the candidates of a generation reached."""

    returns: np.ndarray
    """(P, R) float64, what the fitness is made of."""
    lengths: np.ndarray
    """(P, R) int64"""


class Generation(NamedTuple):
    """What is to be told of one generation."""

    judged: Judged
    metrics: dict[str, float]


def fitness_of(returns: np.ndarray, parameters: np.ndarray, *, decay: float) -> np.ndarray:
    """Return the mean return of each candidate less what large numbers cost, (P,).

    Args:
        returns: (P, R)
        parameters: (P, n)
        decay: Cost of the mean square of a candidate's numbers.
    """
    return returns.mean(axis=1) - decay * np.square(parameters).mean(axis=1)


def evolve(
    search: CmaEs, judge: Callable[[Tensor], Judged], *, decay: float, device: torch.device
) -> Generation:
    """Make one generation.

    Args:
        search: Goes on by one generation.
        judge: Parameters (P, n) float32 -> what they reach.
        decay: See `fitness_of`.
        device: Of the parameters.
    """
    asked = search.ask()
    parameters = torch.as_tensor(asked, dtype=torch.float32, device=device)
    judged = judge(parameters)
    fitness = fitness_of(judged.returns, asked, decay=decay)
    search.tell(fitness)
    of_candidate = judged.returns.mean(axis=1)
    metrics = {
        "train/evolve/fitness_mean": float(fitness.mean()),
        "train/evolve/fitness_best": float(fitness.max()),
        "train/evolve/fitness_std": float(fitness.std()),
        "train/evolve/return_mean": float(of_candidate.mean()),
        "train/evolve/return_best": float(of_candidate.max()),
        "train/evolve/length_mean": float(judged.lengths.mean()),
        "train/evolve/step_size": search.spread,
        "train/evolve/generation": float(search.n_generations),
    }
    return Generation(judged, metrics)


def search_state(search: CmaEs | None, phase: int) -> dict[str, Any] | None:
    """Return a search and the number of its phase as plain containers."""
    return None if search is None else {"phase": phase, "search": search.state_dict()}
