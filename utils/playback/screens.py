"""Where frames go: a video file, the terminal, or nowhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TextIO

import numpy as np
from typing_extensions import override

from utils.loggers.terminal import LiveBlock, is_ascii_only
from utils.playback.episodes import PlayedStep
from utils.playback.half_blocks import draw_half_blocks, draw_shades, fit_size, shrink
from utils.video import VideoWriter

_CAPTION_LINES = 2
_ENTER = "\x1b[?1049h\x1b[?25l"  # the second screen of the terminal, without a cursor
_LEAVE = "\x1b[?25h\x1b[?1049l"


class Screen(Protocol):
    """Takes every state of the episodes that are played."""

    def show(self, step: PlayedStep, caption: str) -> None:
        """Show one state."""
        ...

    def close(self) -> None:
        """Finish; a second call does nothing."""
        ...


class NoScreen(Screen):
    """Shows nothing: for measuring, and for environments that draw their own window."""

    @override
    def show(self, step: PlayedStep, caption: str) -> None:
        """Do nothing."""

    @override
    def close(self) -> None:
        """Do nothing."""


class VideoScreen(Screen):
    """Writes the frames of all episodes to one file."""

    def __init__(self, path: Path, *, fps: float) -> None:
        """Prepare the file; it appears when the screen is closed.

        Args:
            path: An .mp4 file; its folder is made, for the first film of a run.
            fps: Frames per second, > 0.
        """
        self.path = path
        self.fps = fps
        self._writer = VideoWriter(path, fps=fps)

    @property
    def n_frames(self) -> int:
        """Frames written so far."""
        return self._writer.n_frames

    @override
    def show(self, step: PlayedStep, caption: str) -> None:
        """Append one frame."""
        assert step.frame is not None, "a video needs an environment with frames"
        self._writer.write(step.frame)

    @override
    def close(self) -> None:
        """Finish the file with the frames so far."""
        self._writer.close()


class TerminalScreen(Screen):
    """Draws frames with half blocks on the terminal's second screen, at a steady pace."""

    def __init__(
        self,
        stream: TextIO,
        *,
        fps: float,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Switch to the second screen.

        Args:
            stream: A terminal.
            fps: Frames per second, > 0. A terminal that is slower sees all frames, later.
            environ: NO_COLOR draws in ASCII; COLORTERM tells whether it knows 24-bit colours.
            clock: Seconds that only go forward.
            sleep: Waits so many seconds.
        """
        self._stream = stream
        self._block = LiveBlock(stream)
        self._seconds_per_frame = 1.0 / fps
        self._has_colours = not environ.get("NO_COLOR") and not is_ascii_only(stream)
        self._is_truecolor = environ.get("COLORTERM", "").lower() in ("truecolor", "24bit")
        self._clock, self._sleep = clock, sleep
        self._due = clock()
        self._is_open = True
        stream.write(_ENTER)

    @override
    def show(self, step: PlayedStep, caption: str) -> None:
        """Draw one frame with a line of text below it, when it is due."""
        assert step.frame is not None, "a picture needs an environment with frames"
        self._wait()
        columns, rows = self._block.size()
        height, width = fit_size(
            *step.frame.shape[:2], columns=columns, rows=max(rows - _CAPTION_LINES, 1)
        )
        lines = [*self._draw(shrink(step.frame, height, width)), caption[:columns]]
        body = "".join(f"{line}\x1b[K\r\n" for line in lines)
        self._stream.write(f"\x1b[H{body}\x1b[J")
        self._stream.flush()

    @override
    def close(self) -> None:
        """Return to the first screen, which is as it was."""
        if self._is_open:
            self._is_open = False
            self._stream.write(_LEAVE)
            self._stream.flush()

    def _draw(self, pixels: np.ndarray) -> list[str]:
        if self._has_colours:
            return draw_half_blocks(pixels, is_truecolor=self._is_truecolor)
        return draw_shades(pixels)

    def _wait(self) -> None:
        now = self._clock()
        if now < self._due:
            self._sleep(self._due - now)
        self._due = max(self._due, now) + self._seconds_per_frame
