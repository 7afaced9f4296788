"""Displays and clocks for playback without a window, a terminal or waiting."""

from __future__ import annotations

import io
from collections.abc import Sequence

from utils.playback.view import View


class FakeClock:
    """Time that passes when somebody sleeps."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class FakeTerminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


class ScriptedDisplay:
    """Presses keys by a script and keeps what it was told to draw.

    Args:
        script: What is pressed at each reading, one after the other; nothing once it is used up.
        clock: Passes as long as each reading waits.
        held: What is down, all the time.
    """

    def __init__(
        self,
        script: Sequence[Sequence[str]] = (),
        *,
        clock: FakeClock | None = None,
        tells_releases: bool = True,
        most_readings: int = 10_000,
    ):
        self.script = list(script)
        self.clock = clock or FakeClock()
        self.tells_releases = tells_releases
        self.has_keys = True
        self.down: tuple[str, ...] = ()
        self.views: list[View] = []
        self.is_closed = False
        self._left = most_readings

    def draw(self, view):
        self.views.append(view)

    def read_keys(self, seconds):
        self._left -= 1
        assert self._left > 0, "the player waits for a key for ever"
        self.clock.sleep(seconds)
        return list(self.script.pop(0)) if self.script else []

    def held(self):
        return self.down

    def close(self):
        self.is_closed = True

    @property
    def captions(self):
        return [view.caption for view in self.views]
