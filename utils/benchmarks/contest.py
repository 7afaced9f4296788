"""Rates of several contestants, measured in turns so that noise of the machine hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

median = statistics.median


@dataclass(frozen=True, slots=True)
class Contestant:
    """Somebody who works and says how much they did."""

    name: str
    advance: Callable[[], int]
    """Do a small part of the work, a few milliseconds; return the units done."""


@dataclass(frozen=True, slots=True)
class Score:
    """Rates of one contestant, one for each window, in units a second."""

    name: str
    rates: tuple[float, ...]

    @property
    def median(self) -> float:
        """The rate that counts."""
        return median(self.rates)


def hold_contest(
    contestants: Sequence[Contestant],
    *,
    n_windows: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Score]:
    """Measure every contestant in `n_windows` windows; in each round all take their turn.

    Every second round runs backwards, so that nobody always follows the same neighbour.

    Args:
        contestants: Who takes part; each works once beforehand, unmeasured.
        n_windows: Windows of each contestant, >= 1.
        seconds: Least length of a window.
        clock: Seconds that only go forward.

    Returns:
        Scores in the order of `contestants`.
    """
    for contestant in contestants:
        contestant.advance()
    rates: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    assert len(rates) == len(contestants), [contestant.name for contestant in contestants]
    for i in range(n_windows):
        for contestant in contestants if i % 2 == 0 else reversed(contestants):
            rates[contestant.name].append(_rate(contestant, seconds, clock))
    return [Score(name, tuple(values)) for name, values in rates.items()]


def _rate(contestant: Contestant, seconds: float, clock: Callable[[], float]) -> float:
    units, started = 0, clock()
    elapsed = 0.0
    while elapsed < seconds:
        units += contestant.advance()
        elapsed = clock() - started
    return units / elapsed
