"""H.264 video files, written under another name until they are complete."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import av
import numpy as np

from utils.errors import StorageError, UserError
from utils.storage import temporary_path

_CODEC = "libx264"
# Browsers play 4:2:0 only, which needs an even width and height.
_PIXEL_FORMAT = "yuv420p"
# A full picture every 12 frames lets a player seek at once.
_FRAMES_PER_KEYFRAME = 12


class EncoderMissingError(UserError):
    """The installed PyAV cannot encode H.264."""


class VideoWriter:
    """Encodes frames one by one; the file appears under its name when it is closed.

    As a context manager it closes at the end, and leaves nothing behind after an exception.
    """

    def __init__(self, path: Path | str, *, fps: float) -> None:
        """Prepare a file; nothing is written before the first frame.

        Args:
            path: Where the video will be, an .mp4 file. Its folder is created.
            fps: Frames per second, above 0.

        Raises:
            EncoderMissingError: The installed PyAV cannot encode H.264.
        """
        assert fps > 0, fps
        if _CODEC not in av.codecs_available:
            raise EncoderMissingError(
                f"videos need the encoder {_CODEC}, which the installed 'av' lacks: install it "
                "from its wheel with  pip install --force-reinstall av"
            )
        self.path = Path(path)
        self.n_frames = 0
        self._partial = temporary_path(self.path)  # of its own: others may write the same film
        self.fps = fps
        self._container: Any = None
        self._stream: Any = None
        self._shape: tuple[int, ...] = ()

    @property
    def size(self) -> tuple[int, int] | None:
        """(width, height) of the video in pixels, both even; None before the first frame."""
        return None if self._stream is None else (self._stream.width, self._stream.height)

    def write(self, frame: np.ndarray) -> None:
        """Append one frame.

        Args:
            frame: (H, W, 3) uint8, RGB; the same shape each time. Odd sizes are padded by
                repeating the last row or column.

        Raises:
            StorageError: The file cannot be written.
        """
        assert frame.dtype == np.uint8, frame.dtype
        assert frame.ndim == 3, frame.shape
        assert frame.shape[2] == 3, frame.shape
        try:
            if self._container is None:
                self._open(frame.shape)
            assert frame.shape == self._shape, (frame.shape, self._shape)
            self._encode(av.VideoFrame.from_ndarray(_pad_to_even(frame), format="rgb24"))
        except OSError as error:
            self.discard()
            raise StorageError(f"the video {self.path} cannot be written: {error}") from error
        self.n_frames += 1

    def close(self) -> None:
        """Finish the file and give it its name; without a frame there is no file.

        Raises:
            StorageError: The file cannot be written.
        """
        if self._container is None:
            return
        try:
            self._encode(None)
            self._container.close()
            os.replace(self._partial, self.path)
        except OSError as error:
            self.discard()
            raise StorageError(f"the video {self.path} cannot be written: {error}") from error
        self._container = self._stream = None

    def discard(self) -> None:
        """Give up: remove what has been written; an older file of that name stays."""
        container, self._container, self._stream = self._container, None, None
        if container is None:
            return
        with contextlib.suppress(OSError):  # where there is no room, its end has none either
            container.close()
        self._partial.unlink(missing_ok=True)

    def _open(self, shape: tuple[int, ...]) -> None:
        height, width = shape[0] + shape[0] % 2, shape[1] + shape[1] % 2
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # faststart moves the index to the front, so that playing begins before all is loaded.
        self._container = av.open(
            str(self._partial), "w", format="mp4", options={"movflags": "+faststart"}
        )
        stream = self._container.add_stream(_CODEC, rate=_as_rate(self.fps))
        stream.width, stream.height, stream.pix_fmt = width, height, _PIXEL_FORMAT
        stream.options = {"preset": "veryfast", "g": str(_FRAMES_PER_KEYFRAME)}
        # Films are small, and training has the other cores.
        stream.codec_context.thread_count = 1
        self._stream, self._shape = stream, shape

    def _encode(self, frame: av.VideoFrame | None) -> None:
        self._container.mux(self._stream.encode(frame))

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def write_video(path: Path | str, frames: Iterable[np.ndarray], *, fps: float) -> int:
    """Write all frames to one file.

    Args:
        path: Where the video will be, an .mp4 file.
        frames: (H, W, 3) uint8 each, RGB, all of one shape.
        fps: Frames per second, above 0.

    Returns:
        The number of frames written.

    Raises:
        EncoderMissingError: The installed PyAV cannot encode H.264.
        StorageError: The file cannot be written.
    """
    with VideoWriter(path, fps=fps) as writer:
        for frame in frames:
            writer.write(frame)
    return writer.n_frames


def _as_rate(fps: float) -> Fraction:
    return Fraction(fps).limit_denominator(1001)


def _pad_to_even(frame: np.ndarray) -> np.ndarray:
    height, width = frame.shape[:2]
    if height % 2 or width % 2:
        frame = np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    return np.ascontiguousarray(frame)
