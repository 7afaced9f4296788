"""Metrics for TensorBoard, an optional extra."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import override

from utils.errors import MissingDependencyError
from utils.loggers.log_writer import LogWriter


class TensorBoardWriter(LogWriter):
    """Write one event per metric and epoch; the step is the number of timesteps."""

    def __init__(self, log_dir: Path, *, first_timestep: int = 0) -> None:
        """Open the event file.

        Args:
            log_dir: Folder of the event files.
            first_timestep: For a resumed run the timesteps of its checkpoint: later events of
                the earlier process are hidden.

        Raises:
            MissingDependencyError: The package `tensorboard` is not installed.
        """
        try:
            import tensorboard  # noqa: F401
        except ImportError as error:
            raise MissingDependencyError(
                "tensorboard", extra="tensorboard", needed_for="tensorboard: true"
            ) from error
        from torch.utils.tensorboard import SummaryWriter

        purge_step = first_timestep + 1 if first_timestep else None
        self._writer: Any = SummaryWriter(str(log_dir), purge_step=purge_step)

    @override
    def write(self, row: Mapping[str, float], *, epoch: int, timesteps: int) -> None:
        """Write the row of one epoch; see `LogWriter`."""
        for key, value in row.items():
            self._writer.add_scalar(key, value, timesteps)

    @override
    def truncate_after(self, epoch: int) -> None:
        """Do nothing: the event file was opened with the step from which on it is valid."""

    @override
    def close(self) -> None:
        """Write what is buffered and close the file."""
        self._writer.close()
