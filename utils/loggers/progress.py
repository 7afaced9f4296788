"""How fast a run goes and how long it still takes."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable

_WINDOW = 20
_RECENT_SECONDS = 60.0


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands at one moment."""

    epoch: int
    timesteps: int
    max_timesteps: int
    steps_per_second: float
    """NaN while it is not known."""
    elapsed_seconds: float
    updates: int = 0
    """Updates of the run, where an epoch that is running tells them."""

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
        self._before = 0.0  # seconds in training before this meter was made
        self._looks: collections.deque[tuple[float, int]] = collections.deque(maxlen=_WINDOW)

    def begin(self, timesteps: int) -> None:
        """Measure from now on."""
        self._looks.append((self._clock(), timesteps))

    def look(
        self,
        *,
        epoch: int,
        timesteps: int,
        speed_hint: float = math.nan,
        elapsed_hint: float = math.nan,
        updates: int = 0,
    ) -> Progress:
        """Return the progress now.

        Args:
            epoch: Epochs completed.
            timesteps: Environment steps so far.
            speed_hint: Steps per second for the first look, when there is nothing to compare
                with; NaN if unknown.
            elapsed_hint: Seconds in training; NaN to count on from the last hint, or else from
                when this meter was made.
            updates: Updates so far, if they are to be told.
        """
        now = self._clock()
        while len(self._looks) > 1 and now - self._looks[1][0] > _RECENT_SECONDS:
            self._looks.popleft()  # speed is that of the last minute, or since the last step
        speed = speed_hint
        if self._looks:
            then, before = self._looks[0]
            if now > then and timesteps > before:
                speed = (timesteps - before) / (now - then)
        if not self._looks or timesteps != self._looks[-1][1]:
            self._looks.append((now, timesteps))
        if not math.isnan(elapsed_hint):
            self._before = elapsed_hint - (now - self._started)
        elapsed = now - self._started + self._before
        return Progress(epoch, timesteps, self._max_timesteps, speed, elapsed, updates)
