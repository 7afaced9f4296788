"""The whole history of a metric in bounded memory."""

from __future__ import annotations

import math

MAX_POINTS = 2048


class Series:
    """The values of one metric over the timesteps.

    When there are too many points, each two neighbours become their mean, and from then on as many
    values as went into one point make the next. A part with a value that is not finite is not
    finite either, so that it stays visible.
    """

    __slots__ = ("_sum", "_waiting", "_weight", "highest", "latest", "lowest", "n", "xs", "ys")

    def __init__(self) -> None:
        self.xs: list[float] = []
        """Timesteps of each point, rising."""
        self.ys: list[float] = []
        self.n = 0
        """Values so far."""
        self.latest = math.nan
        self.lowest = math.inf
        """Smallest finite value."""
        self.highest = -math.inf
        """Largest finite value."""
        self._weight = 1
        self._sum = 0.0
        self._waiting = 0

    def add(self, timesteps: float, value: float) -> None:
        """Take the next value."""
        self.n += 1
        self.latest = value
        if math.isfinite(value):
            self.lowest = min(self.lowest, value)
            self.highest = max(self.highest, value)
        self._sum += value
        self._waiting += 1
        if self._waiting == self._weight:
            self.xs.append(timesteps)
            self.ys.append(self._sum / self._weight)
            self._sum, self._waiting = 0.0, 0
            if len(self.xs) >= MAX_POINTS:
                self._halve()

    def best(self, goal: str | None) -> float | None:
        """Return the best finite value; None where there is none or neither way is better."""
        if goal is None or not math.isfinite(self.lowest):
            return None
        return self.highest if goal == "up" else self.lowest

    def _halve(self) -> None:
        pairs = range(0, len(self.xs) - 1, 2)
        self.ys = [0.5 * (self.ys[i] + self.ys[i + 1]) for i in pairs]
        self.xs = [self.xs[i + 1] for i in pairs]
        self._weight *= 2
