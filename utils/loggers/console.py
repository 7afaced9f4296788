"""The console: a table that is redrawn in place, or plain lines where that is not possible."""

from __future__ import annotations

import collections
import dataclasses
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from utils.loggers import terminal
from utils.loggers.number_text import format_value
from utils.loggers.progress import Progress, ProgressMeter
from utils.loggers.table import Look, Title, render_table
from utils.loggers.tracks import Tracks
from utils.metrics.monitor import Alert
from utils.metrics_config import MetricsConfig, load_metrics_config
from utils.phases import PHASES_DONE_KEY, PhaseSpec

PLAIN_INTERVAL_SECONDS = 5.0
_ALERT_SECONDS = 60.0
_MAX_ALERTS = 3


class ConsoleWriter:
    """Show the metrics of the run to a person.

    Between two refreshes an epoch only costs the update of the bounded histories. A console that
    goes away (a closed terminal) ends the display, not the training. Other threads may use it.
    """

    def __init__(
        self,
        *,
        title: Title,
        max_timesteps: int,
        phases: Sequence[PhaseSpec] = (),
        log_interval_seconds: float = 1.0,
        metrics_config: MetricsConfig | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the display; nothing is shown before the first row.

        Args:
            title: What is trained, and towards what.
            max_timesteps: Budget of the whole run in environment steps, > 0.
            phases: What the run does one after another; none where its timesteps are all.
            log_interval_seconds: Shortest time between two refreshes of the table; plain lines
                come at most every 5 seconds.
            metrics_config: Order, precision and goals; `config/metrics.yaml` by default.
            stream: Where to write; standard output by default.
            clock: Seconds that only go forward.
        """
        assert max_timesteps > 0, max_timesteps
        self._config = metrics_config or load_metrics_config()
        self._title = title
        self._stream = stream or sys.stdout
        self._clock = clock
        self._tracks = Tracks(self._config)
        self._meter = ProgressMeter(max_timesteps=max_timesteps, clock=clock, phases=phases)
        self._alerts: collections.deque[tuple[float, Alert]] = collections.deque(maxlen=_MAX_ALERTS)
        self._block = terminal.LiveBlock(self._stream)
        self._is_live = terminal.is_terminal(self._stream)
        self._is_ascii = terminal.is_ascii_only(self._stream)
        has_colour = self._is_live and not os.environ.get("NO_COLOR")
        self._palette = terminal.Palette(is_on=has_colour)
        self._interval = (
            log_interval_seconds
            if self._is_live
            else max(log_interval_seconds, PLAIN_INTERVAL_SECONDS)
        )
        self._next_refresh = -math.inf
        self._begun = math.inf
        self._told = (-1, -1)
        self._pending: tuple[Mapping[str, float], int, int] | None = None
        self._progress: Progress | None = None
        self._waiting: collections.deque[str] = collections.deque()
        self._is_writing = False
        self._is_open = True
        self._lock = threading.RLock()  # a signal handler may interrupt its holder and message

    def write(self, row: Mapping[str, float], *, epoch: int, timesteps: int) -> None:
        """Take the row of one epoch, and refresh if it is time; see `LogWriter`."""
        with self._lock:
            self._tracks.add(row, epoch)
            self._pending = (row, epoch, timesteps)
            now = self._clock()
            if now >= self._next_refresh:
                self._next_refresh = now + self._interval
                self._refresh(now)

    def begin(self, *, timesteps: int, phases_done: float = math.nan) -> None:
        """Take note that training begins, and where; from here on `pulse` shows it."""
        with self._lock:
            self._begun = self._clock()
            self._meter.begin(timesteps, phases_done=phases_done)

    def pulse(self, *, epoch: int, timesteps: int, updates: int) -> None:
        """Show how far a long epoch has come, where nothing was shown for an interval.

        Args:
            epoch: Epochs completed.
            timesteps: Environment steps of the run so far.
            updates: Likewise.
        """
        with self._lock:
            now = self._clock()
            if now < max(self._next_refresh, self._begun + self._interval) or not self._is_open:
                return
            self._next_refresh = now + self._interval
            if self._pending is not None:
                self._refresh(now)
                return
            before, counts = self._progress, (timesteps, updates)
            stands = before is not None and (counts == self._told or before.phase is not None)
            if before is not None and stands:  # its own counts come with the row of the epoch
                self._progress = dataclasses.replace(
                    before, elapsed_seconds=self._meter.elapsed(now)
                )
            else:
                self._progress = self._meter.look(epoch=epoch, timesteps=timesteps, updates=updates)
            if self._is_live:
                self._draw(now)
            elif not stands:
                self._put_line(self._plain_line(self._progress))
            self._told = counts

    def alert(self, alert: Alert) -> None:
        """Show an alert: under the table from the next refresh on, or as a line at once."""
        with self._lock:
            shown = [(at, other) for at, other in self._alerts if other.key != alert.key]
            self._alerts.clear()
            self._alerts.extend([*shown, (self._clock(), alert)])
            if not self._is_live:
                self._put_line(f"alert: {_alert_line(alert)}")

    def message(self, text: str) -> None:
        """Show a text that stays, above the table.

        A signal handler may call it at any time: while the console writes, the text waits.
        """
        with self._lock:
            self._waiting.append(text)
            while self._waiting and not self._is_writing:
                waiting = self._waiting.popleft()
                if self.is_live and self._progress is not None:
                    self._draw(self._clock(), above=waiting)
                else:
                    self._put_line(waiting)

    def begin_anew(self) -> None:
        """Draw the table below what others have written to the terminal (a shell, after Ctrl-Z)."""
        self._block.begin_anew()

    @property
    def is_open(self) -> bool:
        """Whether the table is still being drawn."""
        return self._is_open

    @property
    def is_live(self) -> bool:
        """Whether a table is being redrawn, over which nobody else must write."""
        return self._is_live and self._is_open

    def truncate_after(self, epoch: int) -> None:
        """Do nothing: what was shown stays shown."""

    def close(self) -> None:
        """Show the last row and leave it on the screen."""
        with self._lock:
            if not self._is_open:
                return
            if self._pending is not None:
                self._refresh(self._clock(), is_last=True)
            self._is_open = False

    def _refresh(self, now: float, *, is_last: bool = False) -> None:
        assert self._pending is not None
        row, epoch, timesteps = self._pending
        self._pending = None
        self._progress = self._meter.look(
            epoch=epoch,
            timesteps=timesteps,
            speed_hint=row.get("train/time/steps_per_second", math.nan),
            elapsed_hint=row.get("train/time/elapsed_seconds", math.nan),
            phases_done=row.get(PHASES_DONE_KEY, math.nan),
        )
        if self._is_live:
            self._draw(now, is_last=is_last)
        else:
            self._put_line(self._plain_line(self._progress))
        self._tracks.mark_shown()

    def _draw(self, now: float, *, above: str = "", is_last: bool = False) -> None:
        assert self._progress is not None
        columns, rows = self._block.size()
        recent = [alert for at, alert in self._alerts if is_last or now - at < _ALERT_SECONDS]
        lines = render_table(
            title=self._title,
            progress=self._progress,
            groups=self._tracks.groups(),
            alerts=recent,
            config=self._config,
            look=Look(self._palette, self._is_ascii, columns, rows),
        )
        self._write(lambda: self._block.draw(lines, above=above))

    def _put_line(self, text: str) -> None:
        def put() -> None:
            self._stream.write(text + "\n")
            self._stream.flush()

        self._write(put)

    def _write(self, show: Callable[[], None]) -> None:
        if not self._is_open:
            return
        self._is_writing = True
        try:
            show()
        except OSError:
            self._is_open = False
        finally:
            self._is_writing = False
        if self._waiting:
            self.message(self._waiting.popleft())

    def _plain_line(self, progress: Progress) -> str:
        parts = [
            f"{100.0 * progress.fraction:5.1f}%",
            f"epoch {progress.epoch}",
            progress.amount_text(),
            progress.updates_text(),
            progress.speed_text(),
            progress.left_text(),
            *(
                f"{key} {format_value(track.value, precision=track.spec.precision)}"
                for key, track in self._tracks.highlighted()
            ),
        ]
        return "  ".join(part for part in parts if part)


TOLD_BY_THE_END = "is_told_by_the_end"
"""Attribute of records of what ends the program, which is printed as the last thing of all."""


class ConsoleHandler(logging.Handler):
    """Send log records to the console without tearing the table."""

    def __init__(self, console: ConsoleWriter) -> None:
        super().__init__()
        self._console = console

    @property
    def is_open(self) -> bool:
        """Whether records of any level are shown."""
        return self._console.is_open

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record above the table; on standard error once the table is finished."""
        if hasattr(record, TOLD_BY_THE_END):
            return
        if self._console.is_open:
            self._console.message(self.format(record))
        elif record.levelno == logging.WARNING:  # an error is told by whoever ends the program
            print(f"warning: {self.format(record)}", file=sys.stderr)


def _alert_line(alert: Alert) -> str:
    value = format_value(alert.value, precision=4)
    advice = f"; try: {'; '.join(alert.fixes)}" if alert.fixes else ""
    return f"{alert.key} {value} ({alert.bound}, epoch {alert.epoch}): {alert.message}{advice}"
