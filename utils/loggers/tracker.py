"""What a tracker can do beyond taking rows: videos, alerts, and the result of the run."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from utils.loggers.console import ConsoleHandler
from utils.loggers.log_writer import LogWriter
from utils.metrics.monitor import Alert

VIDEO_KEY = "val/video/episode"
_log = logging.getLogger("gymnasium_solver")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """What is known of a run once training is over."""

    summary: Mapping[str, float | int | str]
    """One value per key, see `utils.reports.summarize_run`."""
    config_path: Path
    """The run's `config.json`."""
    checkpoints: Mapping[str, Path] = field(default_factory=dict)
    """Files of the `best` and the `last` checkpoint, both where they differ."""
    is_interrupted: bool = False
    """Whether a signal ended training before its time."""


@runtime_checkable
class Tracker(LogWriter, Protocol):
    """Shows runs beside each other, in a browser; its x axis is the number of timesteps."""

    def write_video(self, path: Path, *, timesteps: int) -> None:
        """Take a finished video of the policy as it was at `timesteps`."""
        ...

    def alert(self, alert: Alert) -> None:
        """Take an alert of the metrics monitor."""
        ...

    def write_result(self, result: RunResult) -> None:
        """Take the result, after the last row and the last video."""
        ...

    def mark_failed(self) -> None:
        """Note that the run ends by an error; `close` follows."""
        ...


def tell(text: str) -> None:
    """Write a note into the run's log and on the screen, also where nothing else is shown (-q)."""
    _log.info(text)
    if not any(isinstance(item, ConsoleHandler) and item.is_open for item in _log.handlers):
        print(f"note: {text}", file=sys.stderr, flush=True)
