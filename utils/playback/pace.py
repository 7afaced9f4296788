"""How fast states follow one another: frames per second, a factor on them, and pauses."""

from __future__ import annotations

import time
from collections.abc import Callable

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
# Who is late by more than this has stood still (a slow terminal, a stopped process) and goes on
# from now; who is late by less catches up by leaving out pictures.
_MOST_LAG_SECONDS = 0.25
_MOST_SECONDS_UNSEEN = 0.1


class Pace:
    """Says when the next state is due and whether there is time to draw it.

    Attributes:
        speed: Factor on the frames per second.
        is_paused: No state is due until somebody goes on.
    """

    def __init__(
        self, fps: float, *, speed: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin now.

        Args:
            fps: Frames per second at speed 1, > 0.
            speed: Factor on it, > 0.
            clock: Seconds that only go forward.
        """
        self._fps = fps
        self.speed = speed
        self.is_paused = False
        self._clock = clock
        self._due = self._last_drawn = clock()

    def seconds_left(self) -> float:
        """Return how long the next state is away, 0 if it is due."""
        return max(0.0, self._due - self._clock())

    def advance(self) -> None:
        """Note that a state has been shown: the next one is due one frame later."""
        now = self._clock()
        self._due = max(self._due, now - _MOST_LAG_SECONDS) + 1.0 / (self._fps * self.speed)

    def restart(self) -> None:
        """Let the next state be due one frame from now, however long this one took."""
        self._due = self._clock() + 1.0 / (self._fps * self.speed)

    def delay(self, seconds: float) -> None:
        """Let the next state be due no earlier than so many seconds from now."""
        self._due = max(self._due, self._clock() + seconds)

    def has_time_to_draw(self) -> bool:
        """Say whether the present state is to be drawn; one that is late is left out now and then.

        Ten pictures a second are drawn, however fast it goes, and every one step out of a pause.
        """
        now = self._clock()
        is_late = not self.is_paused and now > self._due + 1.0 / (self._fps * self.speed)
        if is_late and now < self._last_drawn + _MOST_SECONDS_UNSEEN:
            return False
        self._last_drawn = now
        return True

    def faster(self) -> None:
        """Take the next higher speed."""
        self._change(next((speed for speed in SPEEDS if speed > self.speed), self.speed))

    def slower(self) -> None:
        """Take the next lower speed."""
        self._change(next((speed for speed in SPEEDS[::-1] if speed < self.speed), self.speed))

    def _change(self, speed: float) -> None:
        was_left = self.seconds_left()
        self._due = self._clock() + was_left * self.speed / speed
        self.speed = speed

    def describe(self) -> str:
        """Return the speed as people read it: "paused", "", "2x"."""
        if self.is_paused:
            return "paused"
        return "" if self.speed == 1.0 else f"{self.speed:g}x"
