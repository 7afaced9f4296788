"""Views that a person watches while they happen: a display, its pace, and a recording."""

from __future__ import annotations

import dataclasses
from typing import Protocol

from utils.playback.canvas import compose
from utils.playback.pace import Pace
from utils.playback.view import View
from utils.video import VideoWriter

WATCH_HINT = "space pause   n one frame   + - speed   q quit"
_QUIT_KEYS = ("q", "escape", "close")
_SECONDS_OF_PAUSE = 0.1
_SECONDS_TO_LINGER = 0.5


class PlaybackStopped(Exception):  # noqa: N818 - no error: the person has seen enough
    """The person has closed the window or pressed the key that ends the playback."""


class Display(Protocol):
    """Draws views and reads keys."""

    tells_releases: bool
    """Whether it knows when a key is released."""

    @property
    def has_keys(self) -> bool:
        """Whether keys can be read."""
        ...

    def draw(self, view: View) -> None:
        """Draw a view over the one before."""
        ...

    def read_keys(self, seconds: float) -> list[str]:
        """Return the names of keys that were pressed, waiting at most so long for the first."""
        ...

    def held(self) -> tuple[str, ...]:
        """Return the keys that are down, oldest first."""
        ...

    def close(self) -> None:
        """Finish; a second call does nothing."""
        ...


class Recorder:
    """Writes each state that is shown to a video file, once and at a steady pace."""

    def __init__(self, writer: VideoWriter) -> None:
        """Write to a file that appears when the recording is closed."""
        self.writer = writer

    def take(self, view: View) -> None:
        """Append a view, without the line that explains the keys."""
        self.writer.write(compose(view))

    def close(self) -> None:
        """Finish the file; a second call does nothing."""
        self.writer.close()


class LiveScreen:
    """Shows one state after the other at a pace that the person controls.

    Attributes:
        display: Where it is drawn.
        pace: When the next state is due.
    """

    def __init__(self, display: Display, pace: Pace, recorder: Recorder | None = None) -> None:
        """Take over a display.

        Args:
            display: Closed with this screen.
            pace: Of the states.
            recorder: Sees every state too, also those that there is no time to draw.
        """
        self.display, self.pace, self.recorder = display, pace, recorder
        self._shown: View | None = None

    def show(self, view: View) -> None:
        """Show one state when it is due, and obey the keys until the next may come.

        Raises:
            PlaybackStopped: The person has seen enough.
        """
        self._wait()
        self.take(view)
        self.pace.advance()

    def linger(self) -> None:
        """Leave the last state to be looked at for a moment.

        Raises:
            PlaybackStopped: The person has seen enough.
        """
        self.pace.delay(_SECONDS_TO_LINGER)
        self._wait()

    def take(self, view: View) -> None:
        """Record a state, and draw it if there is time."""
        if self.recorder is not None:
            self.recorder.take(view)
        if self.pace.has_time_to_draw() or view.is_end:
            self.redraw(view)

    def redraw(self, view: View) -> None:
        """Draw a view that has been recorded, with the speed as it is now."""
        status = self.pace.describe()
        caption = f"{status}   {view.caption}" if status else view.caption
        self.display.draw(dataclasses.replace(view, caption=caption))
        self._shown = view

    def close(self) -> None:
        """Close the display and finish the recording."""
        try:
            self.display.close()
        finally:
            if self.recorder is not None:
                self.recorder.close()

    def _wait(self) -> None:
        """Wait until the next state is due, or the person takes one step out of a pause."""
        while True:
            left = _SECONDS_OF_PAUSE if self.pace.is_paused else self.pace.seconds_left()
            keys = self.display.read_keys(left)
            if self._obey(keys):
                return
            if keys and self._shown is not None:
                self.redraw(self._shown)
            elif not self.pace.is_paused and self.pace.seconds_left() == 0.0:
                return

    def _obey(self, keys: list[str]) -> bool:
        """Do what the keys say; return whether one state is to be shown in spite of a pause."""
        for key in keys:
            if key in _QUIT_KEYS:
                raise PlaybackStopped
            if key == "n":
                self.pace.is_paused = True
                return True
            if key in ("space", "p"):
                self.pace.is_paused = not self.pace.is_paused
                self.pace.restart()
            elif key in ("+", "="):
                self.pace.faster()
            elif key in ("-", "_"):
                self.pace.slower()
        return False
