"""What a tracker can do beyond taking rows: videos, alerts, and the result of the run."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """What a resumed run wrote before; a new run has none."""

    rows: Sequence[Mapping[str, Any]] = ()
    """Rows of `metrics.jsonl`, those beyond the checkpoint too."""
    timesteps: int = 0
    """Where training goes on."""
    videos_dir: Path | None = None
    """Where the films `epoch=XX.mp4` are."""

    @property
    def last_epoch(self) -> int:
        """Epoch of the last row; 0 without one."""
        return int(self.rows[-1]["epoch"]) if self.rows else 0

    def send_again(self, writer: Tracker, *, after_epoch: int = 0, after_step: int = -1) -> None:
        """Give a tracker the rows and films up to the checkpoint that it has lost by a kill.

        Args:
            writer: Gets each row as it was.
            after_epoch: The last epoch that it has.
            after_step: The last timestep that it has.
        """
        for row in self.rows:
            epoch, timesteps = row["epoch"], row["timesteps"]
            if epoch > after_epoch and after_step < timesteps <= self.timesteps:
                metrics = {k: v for k, v in row.items() if k not in ("epoch", "timesteps")}
                film = self.videos_dir and self.videos_dir / f"epoch={epoch:02}.mp4"
                if film and film.exists():
                    writer.write_video(film, timesteps=timesteps)
                writer.write(metrics, epoch=epoch, timesteps=timesteps)


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
