"""Everything that is known of a run by its files, kept up to date by looking."""

from __future__ import annotations

import collections
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from utils.config.algos.phases import PhaseConfig
from utils.loggers.progress import Progress, locate
from utils.metrics_config import MetricsConfig, load_metrics_config
from utils.monitoring.series import Series
from utils.phases import PHASES_DONE_KEY, PhaseSpec
from utils.run import Run
from utils.run.control import Answer, AnswerReader
from utils.storage import TailFile, parse_records, read_json

ELAPSED_KEY = "train/time/elapsed_seconds"
_RATE_SECONDS = 10.0
_MAX_RECENT = 4096
_MAX_ALERTS = 50
_MAX_LOG_LINES = 400


class RunView:
    """One run as its files tell it; `refresh` reads what is new.

    It opens files for reading only, so that it can be stopped or killed at any moment.
    """

    def __init__(
        self,
        run: Run,
        *,
        metrics_config: MetricsConfig | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take a run; nothing is read yet.

        Args:
            run: Its folder may vanish later.
            metrics_config: Order, precision and goals; `config/metrics.yaml` by default.
            clock: Seconds since the epoch, as file times are.
        """
        self.folder = run
        self.spec = metrics_config or load_metrics_config()
        self.config: Mapping[str, Any] = {}
        self.status: Mapping[str, Any] = {"status": "unknown"}
        self.results: Mapping[str, Any] | None = None
        self.series: dict[str, Series] = {}
        self.alerts: collections.deque[Mapping[str, Any]] = collections.deque(maxlen=_MAX_ALERTS)
        self.log: collections.deque[str] = collections.deque(maxlen=_MAX_LOG_LINES)
        self.epoch = 0
        self.timesteps = 0
        self.is_complete = False
        """Whether the last `refresh` came to the end of the metrics."""
        self.n_rows = 0
        """Rows taken so far; it never falls, also when rows are computed again."""
        self.bad_lines = 0
        self._clock = clock
        self._metrics = TailFile(run.metrics_jsonl)
        self._alert_file = TailFile(run.alerts_jsonl)
        self._log_file = TailFile(run.log_path)
        self._answers = AnswerReader(run)
        self._recent: collections.deque[tuple[float, int, float]] = collections.deque(
            maxlen=_MAX_RECENT
        )
        """Seconds in training, timesteps, phases carried out (NaN where not told) of rows."""
        self._elapsed = math.nan
        self._keys: list[str] | None = None

    def refresh(self, *, patience_seconds: float = math.inf) -> list[Answer]:
        """Read what is new.

        Args:
            patience_seconds: About how long reading metrics may take; the next call goes on.

        Returns:
            The new answers of the process that trains.
        """
        if not self.config:
            self.config = read_json(self.folder.config_path) or {}
        self.status = self.folder.read_status()
        self.results = read_json(self.folder.results_path)
        self._read_metrics(patience_seconds)
        n_begun = self._alert_file.n_begun
        alerts = parse_records(self._alert_file.read())
        if self._alert_file.n_begun != n_begun:
            self.alerts.clear()
        self.alerts.extend(alerts)
        self.log.extend(line.decode(errors="replace") for line in self._log_file.read())
        return self._answers.read()

    def ordered_keys(self) -> list[str]:
        """Return the keys of all metrics, in the order of the metrics file."""
        if self._keys is None or len(self._keys) != len(self.series):
            self._keys = self.spec.sort_keys(list(self.series))
        return self._keys

    @property
    def config_id(self) -> str:
        """`<env>:<variant>`."""
        return str(self.config.get("config_id", "?"))

    @property
    def max_timesteps(self) -> int:
        """Budget of the run in environment steps."""
        budget = self.config.get("max_timesteps")
        return max(1, budget) if isinstance(budget, int) else 1

    @property
    def is_running(self) -> bool:
        """Whether a process trains it now."""
        return self.status["status"] == "running"

    @property
    def seconds_since_row(self) -> float:
        """Time since the last row of metrics, or since the process began; NaN if unknown."""
        times = []
        for path in (self.folder.metrics_jsonl, self.folder.status_path):
            try:
                times.append(os.stat(path).st_mtime)
            except OSError:
                continue
        return max(0.0, self._clock() - max(times)) if times else math.nan

    @property
    def seconds_per_epoch(self) -> float:
        """Mean time of the latest epochs; NaN while it is not known."""
        if len(self._recent) < 2:
            return math.nan
        return (self._recent[-1][0] - self._recent[0][0]) / (len(self._recent) - 1)

    def progress(self) -> Progress:
        """Return where the run stands."""
        speed, phase = math.nan, None
        if self._recent:
            phase = locate(read_phases(self.config), self._recent[-1][2])
        amounts = [(seconds, float(timesteps)) for seconds, timesteps, _ in self._recent]
        if phase is not None:
            index = phase.number - 1
            amounts = [
                (seconds, (position - index) * phase.total)
                for seconds, _, position in self._recent
                if position >= index
            ]
        if len(amounts) > 1:
            (then, before), (now, after) = amounts[0], amounts[-1]
            speed = (after - before) / (now - then) if now > then else math.nan
        elif self._elapsed > 0 and phase is None:
            speed = self.timesteps / self._elapsed
        return Progress(self.epoch, self.timesteps, self.max_timesteps, speed, self._elapsed, phase)

    def _read_metrics(self, patience_seconds: float) -> None:
        deadline = time.monotonic() + patience_seconds
        while True:
            n_begun = self._metrics.n_begun
            lines = self._metrics.read(max_bytes=1 << 18)
            if self._metrics.n_begun != n_begun:
                self._forget()
            for row in parse_records(lines):
                self._take(row)
            self.is_complete = not lines
            if not lines or time.monotonic() > deadline:
                return

    def _forget(self) -> None:
        """Rows were removed from the file, for a resumed run computes them again."""
        self.series.clear()
        self._recent.clear()
        self._keys = None
        self.epoch = self.timesteps = 0
        self._elapsed = math.nan

    def _take(self, row: dict[str, Any]) -> None:
        try:
            epoch, timesteps = int(row.pop("epoch")), int(row.pop("timesteps"))
            values = {key: float(value) for key, value in row.items()}
        except (KeyError, TypeError, ValueError):
            self.bad_lines += 1
            return
        self.epoch, self.timesteps = epoch, timesteps
        self.n_rows += 1
        for key, value in values.items():
            series = self.series.get(key)
            if series is None:
                series = self.series[key] = Series()
            series.add(self.timesteps, value)
        if ELAPSED_KEY in values:
            self._note_time(values[ELAPSED_KEY], values.get(PHASES_DONE_KEY, math.nan))

    def _note_time(self, elapsed: float, phases_done: float) -> None:
        recent, self._elapsed = self._recent, elapsed
        recent.append((elapsed, self.timesteps, phases_done))
        while len(recent) > 2 and elapsed - recent[1][0] >= _RATE_SECONDS:
            recent.popleft()


def read_phases(config: Mapping[str, Any]) -> list[PhaseSpec]:
    """Return the phases of a config as its file holds it; none where they are damaged."""
    try:
        return [PhaseConfig.model_validate(entry).spec() for entry in config.get("phases") or ()]
    except (TypeError, ValidationError):
        return []
