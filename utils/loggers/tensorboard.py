"""TensorBoard, an optional extra."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from utils.errors import MissingDependencyError
from utils.loggers.tracker import VIDEO_KEY, RunResult, Tracker
from utils.metrics.monitor import Alert

_GIF_FRAMES = 100
_GIF_PIXELS = 240
"""TensorBoard plays GIFs only, which are large: so many frames at most, none wider or higher."""


class TensorBoardWriter(Tracker):
    """Write one event per metric and epoch; the step is the number of timesteps."""

    def __init__(
        self,
        log_dir: Path,
        *,
        config_dict: Mapping[str, Any] | None = None,
        first_timestep: int = 0,
    ) -> None:
        """Open the event file.

        Args:
            log_dir: Folder of the event files.
            config_dict: The whole config as JSON values, shown under "Text".
            first_timestep: For a resumed run the timesteps of its checkpoint: later events of
                the earlier process are hidden.

        Raises:
            MissingDependencyError: The package `tensorboard` is not installed.
        """
        try:
            import tensorboard  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError(
                "tensorboard", extra="tensorboard", needed_for="the tracker tensorboard"
            ) from error
        from torch.utils.tensorboard import SummaryWriter

        purge_step = first_timestep + 1 if first_timestep else None
        self._writer: Any = SummaryWriter(str(log_dir), purge_step=purge_step)
        self._last_step = first_timestep
        if config_dict is not None and not first_timestep:
            self._write_text("config", json.dumps(config_dict, indent=2), step=0)

    @override
    def write(self, row: Mapping[str, float], *, epoch: int, timesteps: int) -> None:
        """Write the row of one epoch; see `LogWriter`."""
        self._last_step = timesteps
        self._write_numbers(row)

    @override
    def write_video(self, path: Path, *, timesteps: int) -> None:
        """Write a finished video as an animated picture."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        picture, (width, height) = _as_gif(path)
        image = Summary.Image(
            height=height, width=width, colorspace=3, encoded_image_string=picture
        )
        summary = Summary(value=[Summary.Value(tag=VIDEO_KEY, image=image)])
        self._writer.file_writer.add_summary(summary, timesteps)

    @override
    def alert(self, alert: Alert) -> None:
        """Write an alert as a text."""
        text = f"{alert.message} ({alert.value:g}, {alert.bound}, epoch {alert.epoch})"
        self._writer.add_text(f"alerts/{alert.key}", text, self._last_step)

    @override
    def write_result(self, result: RunResult) -> None:
        """Write the summary: its numbers as scalars, all of it as a text."""
        summary = result.summary.items()
        self._write_numbers({k: float(v) for k, v in summary if isinstance(v, int | float)})
        self._write_text("result", json.dumps(dict(result.summary), indent=2), self._last_step)

    @override
    def mark_failed(self) -> None:
        """Do nothing: TensorBoard knows no failed runs."""

    @override
    def truncate_after(self, epoch: int) -> None:
        """Do nothing: the event file was opened with the step from which on it is valid."""

    @override
    def close(self) -> None:
        """Write what is buffered and close the file."""
        self._writer.close()

    def _write_numbers(self, numbers: Mapping[str, float]) -> None:
        """Write many numbers as one event, which costs a tenth of an event for each."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=key, simple_value=value) for key, value in numbers.items()]
        self._writer.file_writer.add_summary(Summary(value=values), self._last_step)

    def _write_text(self, tag: str, text: str, step: int) -> None:
        indented = "\n".join(f"    {line}" for line in text.splitlines())
        self._writer.add_text(tag, indented, step)


def _as_gif(path: Path) -> tuple[bytes, tuple[int, int]]:
    """Return a video as a GIF of a few frames in the same time, and its width and height."""
    import av
    from PIL import Image

    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stride = max(1, -(-stream.frames // _GIF_FRAMES))
        frames = [
            frame.to_image()
            for index, frame in enumerate(container.decode(stream))
            if index % stride == 0
        ]
        milliseconds = 1000.0 * stride / float(stream.average_rate)
    for frame in frames:
        frame.thumbnail((_GIF_PIXELS, _GIF_PIXELS), Image.Resampling.BILINEAR)
    content = io.BytesIO()
    frames[0].save(
        content,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=max(20, round(milliseconds)),  # players take less for a mistake
        loop=0,
    )
    return content.getvalue(), frames[0].size
