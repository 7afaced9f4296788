"""Where views go when nobody steers them: a video file, or nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from typing_extensions import override

from utils.playback.canvas import compose
from utils.playback.view import View
from utils.video import VideoWriter


class Screen(Protocol):
    """Takes every state of the episodes that are played."""

    def show(self, view: View) -> None:
        """Show one state."""
        ...

    def linger(self) -> None:
        """Leave the last state to be looked at for a moment."""
        ...

    def close(self) -> None:
        """Finish; a second call does nothing."""
        ...


class NoScreen(Screen):
    """Shows nothing: for measuring."""

    @override
    def show(self, view: View) -> None:
        """Do nothing."""

    @override
    def linger(self) -> None:
        """Do nothing."""

    @override
    def close(self) -> None:
        """Do nothing."""


class VideoScreen(Screen):
    """Writes the states of all episodes to one file: a picture as it is, several with captions."""

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
    def show(self, view: View) -> None:
        """Append one frame."""
        is_alone = len(view.tiles) == 1
        self._writer.write(view.tiles[0].picture if is_alone else compose(view))

    @override
    def linger(self) -> None:
        """Do nothing: the last frame of a video stays by itself."""

    @override
    def close(self) -> None:
        """Finish the file with the frames so far."""
        self._writer.close()
