"""How fast a run goes and how long it still takes."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable

_WINDOW = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands at one moment."""

    epoch: int
    timesteps: int
    max_timesteps: int
    steps_per_second: float
    """NaN while it is not known."""
    elapsed_seconds: float

    @property
    def fraction(self) -> float:
        """Part of the budget that is spent, in [0, 1]."""
        return min(1.0, self.timesteps / self.max_timesteps)

    @property
    def seconds_left(self) -> float:
        """Time to the end of the budget at the present speed; NaN while it is not known."""
        left = max(0, self.max_timesteps - self.timesteps)
        return left / self.steps_per_second if self.steps_per_second > 0 else math.nan


class ProgressMeter:
    """Measure the speed over the last moments at which somebody looked."""

    def __init__(self, *, max_timesteps: int, clock: Callable[[], float]) -> None:
        self._max_timesteps = max_timesteps
        self._clock = clock
        self._started = clock()
        self._looks: collections.deque[tuple[float, int]] = collections.deque(maxlen=_WINDOW)

    def look(
        self, *, epoch: int, timesteps: int, speed_hint: float, elapsed_hint: float
    ) -> Progress:
        """Return the progress now.

        Args:
            epoch: Epochs completed.
            timesteps: Environment steps so far.
            speed_hint: Steps per second for the first look, when there is nothing to compare
                with; NaN if unknown.
            elapsed_hint: Seconds in training; NaN for the time since this meter was made.
        """
        now = self._clock()
        speed = speed_hint
        if self._looks:
            then, before = self._looks[0]
            if now > then and timesteps > before:
                speed = (timesteps - before) / (now - then)
        self._looks.append((now, timesteps))
        elapsed = now - self._started if math.isnan(elapsed_hint) else elapsed_hint
        return Progress(epoch, timesteps, self._max_timesteps, speed, elapsed)
