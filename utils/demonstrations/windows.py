"""Windows of demonstrations: what was seen up to a step, and what was done around it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from utils.demonstrations.episodes import Demonstrations, Observation


class Window(NamedTuple):
    """B windows, each around one step of an episode."""

    observation: Observation
    """(B, n_observations, ...), the last one is that of the step; before the episode its first."""
    action: Tensor
    """(B, n_actions, ...), beginning with the one that belongs to the first observation; beyond
    either end of the episode the nearest of its actions."""
    is_real: Tensor
    """(B, n_actions) bool, false for those beyond an end: they count in no loss."""


class Windows:
    """Picks windows of demonstrations by the number of their step; an index is int64."""

    def __init__(
        self, demonstrations: Demonstrations, steps: Tensor, *, n_observations: int, n_actions: int
    ) -> None:
        """Say which steps have a window, and how wide it is.

        Args:
            demonstrations: All of them.
            steps: (n,) int64, the steps to learn from.
            n_observations: Observations of a window, >= 1.
            n_actions: Actions of a window, >= n_observations.
        """
        assert 1 <= n_observations <= n_actions, (n_observations, n_actions)
        self.demonstrations, self.steps = demonstrations, steps
        self._n_before = n_observations - 1
        self._before = torch.arange(-self._n_before, 1)
        self._around = torch.arange(n_actions) - self._n_before

    def __len__(self) -> int:
        return len(self.steps)

    def gather(self, index: Tensor) -> Window:
        """Pick windows; `index` (B,) counts among `steps`."""
        data = self.demonstrations
        step = self.steps[index]
        episode = torch.searchsorted(data.start, step, right=True) - 1
        first, last = data.start[episode].unsqueeze(1), data.start[episode + 1].unsqueeze(1) - 1
        seen = torch.maximum(step.unsqueeze(1) + self._before, first)
        done = step.unsqueeze(1) + self._around
        is_real = (done >= first) & (done <= last)
        nearest = torch.minimum(torch.maximum(done, first), last)
        return Window(data.rows(seen), data.action[nearest], is_real)


def split_episodes(
    demonstrations: Demonstrations, *, val_fraction: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Divide the steps by whole episodes: neighbours in an episode are too alike to judge with.

    Args:
        demonstrations: Of E episodes.
        val_fraction: In [0, 1); of two or more episodes at least one is kept apart unless it is 0,
            and at least one is learnt from.
        generator: Chooses the episodes.

    Returns:
        The steps to learn from and those to judge with, (n,) int64 each, in order.
    """
    n = demonstrations.n_episodes
    n_val = 0
    if val_fraction > 0 and n > 1:
        n_val = min(max(1, round(n * val_fraction)), n - 1)
    is_val = torch.zeros(n, dtype=torch.bool)
    is_val[torch.randperm(n, generator=generator)[:n_val]] = True
    of_step = is_val.repeat_interleave(demonstrations.start.diff())
    return (~of_step).nonzero().squeeze(1), of_step.nonzero().squeeze(1)
