"""How fast a phase goes on, and when it will be through: a line for a person, now and then."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class PhaseClock:
    """Tells at most one line in an interval, and one when a stretch of work is through."""

    def __init__(
        self,
        tell: Callable[[str], object],
        *,
        interval_seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without any work.

        Args:
            tell: Shows a line.
            interval_seconds: Least time between two lines of one stretch of work.
            clock: Seconds that only go forward.
        """
        self._tell, self._interval, self._clock = tell, interval_seconds, clock
        self._name: str | None = None
        self._began = (0.0, 0.0)
        self._told_at = -math.inf

    def note(self, name: str, done: float, total: float | None, unit: str) -> None:
        """Take in how much of a stretch of work is done.

        The rate is that of this process since it first heard of this stretch.

        Args:
            name: Of the work; another name begins another stretch.
            done: How much is done, of `unit`, before this process included.
            total: How much there is; None where nobody knows.
            unit: In the plural.
        """
        now = self._clock()
        if name != self._name:
            self._name, self._began, self._told_at = name, (now, done), now
        is_through = total is not None and done >= total
        if now - self._told_at < self._interval and not is_through:
            return
        self._told_at = now
        seconds, amount = now - self._began[0], done - self._began[1]
        rate = amount / seconds if seconds > 0.0 else 0.0
        self._tell(progress_line(name, done, total, unit, rate=rate))
        if is_through:
            self._name = None


def progress_line(name: str, done: float, total: float | None, unit: str, *, rate: float) -> str:
    """Say how far a stretch of work is: "name: 20 of 100 updates (20 %), 2.0/s, 40s left"."""
    of_total = "" if total is None else f" of {total:,.0f}"
    parts = [f"{name}: {done:,.0f}{of_total} {unit}"]
    if total:
        parts[0] += f" ({100.0 * done / total:.0f} %)"
    if rate > 0.0:
        parts.append(f"{rate:,.0f}/s" if rate >= 100.0 else f"{rate:.3g}/s")
        if total is not None and done < total:
            parts.append(f"{_duration((total - done) / rate)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    """Return a time as people read it: 40s, 3m 20s, 2h 05m."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"
