"""What was seen of each arm: weights and sums, all that a bandit algorithm needs."""

from __future__ import annotations

import numpy as np


class ArmRecord:
    """Counts and sums of N problems with C contexts and k arms.

    With `memory` below 1 everything seen weighs less by that factor after each step, whichever
    arm was pulled: the discounted counts and means of Garivier and Moulines 2011, "On
    upper-confidence bound policies for switching bandit problems", section 2.

    Attributes:
        counts: (N, C, k) float64, (discounted) number of pulls.
        sums: (N, C, k) float64, (discounted) sum of what they paid.
    """

    def __init__(self, n: int, n_contexts: int, n_arms: int, *, memory: float = 1.0) -> None:
        """Start with nothing seen."""
        self.counts = np.zeros((n, n_contexts, n_arms))
        self.sums = np.zeros((n, n_contexts, n_arms))
        self._memory = memory
        self._rows = np.arange(n)

    def clear(self, rows: np.ndarray) -> None:
        """Forget everything of some problems, (K,) indices."""
        self.counts[rows] = 0.0
        self.sums[rows] = 0.0

    def add(self, context: np.ndarray, arm: np.ndarray, reward: np.ndarray) -> None:
        """Take in one pull of every problem; all (N,)."""
        if self._memory != 1.0:
            self.counts *= self._memory
            self.sums *= self._memory
        self.counts[self._rows, context, arm] += 1.0
        self.sums[self._rows, context, arm] += reward

    def in_context(self, context: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return counts and means (0 where nothing was seen) of the arms at hand, (N, k) each."""
        counts, sums = self.counts[self._rows, context], self.sums[self._rows, context]
        return counts, np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
