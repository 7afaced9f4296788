"""Rates of several contestants, measured in turns so that noise of the machine hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

median = statistics.median
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Contestant:
    """Somebody who works and says how much they did."""

    name: str
    advance: Callable[[], int]
    """Do a small part of the work, a few milliseconds; return the units done."""
    has_processes: bool = False
    """Works in other processes too, so that this one's processor time says nothing."""


@dataclass(frozen=True, slots=True)
class Score:
    """Rates of one contestant, one for each window, in units a second."""

    name: str
    rates: tuple[float, ...]
    cpu_rates: tuple[float, ...] = ()
    """The same per second of processor time; empty where that cannot be said."""

    @property
    def median(self) -> float:
        """The rate that counts."""
        return median(self.rates)


def hold_contest(
    contestants: Sequence[Contestant],
    *,
    n_windows: int,
    seconds: float,
    clock: Clock = time.perf_counter,
    cpu_clock: Clock = time.process_time,
) -> list[Score]:
    """Measure every contestant in `n_windows` windows; in each round all take their turn.

    Every second round runs backwards, so that nobody always follows the same neighbour.

    Args:
        contestants: Who takes part; each works once beforehand, unmeasured.
        n_windows: Windows of each contestant, >= 1.
        seconds: Least length of a window.
        clock: Seconds that only go forward.
        cpu_clock: Seconds of processor time of this process.

    Returns:
        Scores in the order of `contestants`.
    """
    for contestant in contestants:
        contestant.advance()
    windows: dict[str, list[tuple[float, float]]] = {c.name: [] for c in contestants}
    assert len(windows) == len(contestants), [contestant.name for contestant in contestants]
    for i in range(n_windows):
        for contestant in contestants if i % 2 == 0 else reversed(contestants):
            windows[contestant.name].append(_rates(contestant, seconds, clock, cpu_clock))
    return [_score(contestant, windows[contestant.name]) for contestant in contestants]


def _rates(
    contestant: Contestant, seconds: float, clock: Clock, cpu_clock: Clock
) -> tuple[float, float]:
    units, started, cpu_started = 0, clock(), cpu_clock()
    elapsed = 0.0
    while elapsed < seconds:
        units += contestant.advance()
        elapsed = clock() - started
    return units / elapsed, units / (cpu_clock() - cpu_started)


def _score(contestant: Contestant, windows: Sequence[tuple[float, float]]) -> Score:
    rates, cpu_rates = zip(*windows, strict=True)
    return Score(contestant.name, rates, () if contestant.has_processes else cpu_rates)
