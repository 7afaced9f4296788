"""One trial at work: its trainings as processes, and the values that they write."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.config.problems import did_you_mean
from utils.config.yaml_reader import parse_value
from utils.errors import ConfigError
from utils.jobs import Job
from utils.loggers.jsonl import read_jsonl
from utils.reports import summarize_run
from utils.run import Run
from utils.run.registry import list_runs
from utils.sweeps.spec import Metric, SweepSpec

ROOT = Path(__file__).resolve().parents[2]


def train_command(spec: SweepSpec, settings: Mapping[str, Any], *extra: str) -> list[str]:
    """Return the command of one training, as a person would type it."""
    sets = [part for key, value in settings.items() for part in ("--set", as_override(key, value))]
    return [sys.executable, str(ROOT / "train.py"), *spec.arguments, *sets, *extra]


def as_override(key: str, value: Any) -> str:
    """Write a setting as `--set` reads it."""
    if isinstance(value, str):
        with contextlib.suppress(ConfigError):
            if parse_value(value, label=key) == value:
                return f"{key}={value}"
    return f"{key}={json.dumps(value)}"


class Training(Job):
    """One process that trains one seed of a trial."""

    def __init__(
        self, spec: SweepSpec, settings: Mapping[str, Any], folder: Path, *, seed: int | None
    ) -> None:
        """Prepare a training.

        Args:
            spec: The sweep.
            settings: Of the trial.
            folder: Made for this training alone.
            seed: Seed of the run; None for that of the config.
        """
        extra = ["--runs-dir", str(folder), *([] if seed is None else ["--seed", str(seed)])]
        super().__init__(
            train_command(spec, settings, *extra), output=folder / "output.txt", cwd=ROOT
        )
        self.folder = folder
        self.values: list[float] = []
        self._metric = spec.metric
        self._seen: tuple[int, int] | None = None

    @property
    def run(self) -> Run | None:
        """The run folder; None before it is made."""
        runs = list_runs(self.folder)
        return runs[0] if runs else None

    def read_values(self) -> list[float]:
        """Return every value so far by which the trial is compared; see `metric_values`."""
        run = self.run
        if run is None or not run.metrics_jsonl.exists():
            return self.values
        stat = run.metrics_jsonl.stat()
        if (stat.st_ino, stat.st_size) != self._seen:
            self._seen = (stat.st_ino, stat.st_size)
            self.values = metric_values(read_jsonl(run.metrics_jsonl), self._metric)
        return self.values

    def final_value(self) -> float:
        """Return what the training came to.

        Raises:
            LookupError: It has no finite value of the metric.
        """
        run = self.run
        if run is None:
            raise LookupError("it left no run")
        return objective(run, self._metric)


def metric_values(rows: list[dict[str, Any]], metric: Metric) -> list[float]:
    """Return the values by which a trial is compared while it runs, in order.

    A metric that only a finished run has, such as the test return, is stood in for by the
    evaluations, where more is better of it as of them.
    """
    stand_in = ("val/roll/ep_rew_mean",) if metric.is_better_larger else ()
    for key in (metric.name, *stand_in):
        found = [row[key] for row in rows if isinstance(row.get(key), int | float)]
        if found:
            return found
    return []


def objective(run: Run, metric: Metric) -> float:
    """Return the last value of a metric in a finished run, or that in its summary.

    Raises:
        LookupError: There is none, or it is not finite; the message names one that is near.
    """
    rows = read_jsonl(run.metrics_jsonl)
    values = [row[metric.name] for row in rows if metric.name in row]
    summary = summarize_run(run)
    value = values[-1] if values else summary.get(metric.name)
    if not isinstance(value, int | float):
        keys = {key for row in rows for key in row} | summary.keys()
        hint = did_you_mean(metric.name, keys)
        raise LookupError(f"it has no '{metric.name}'{hint} ({run.metrics_csv} has all)")
    if not math.isfinite(value):
        raise LookupError(f"its '{metric.name}' is {value}")
    return float(value)


class TrialWork:
    """The trainings of one trial: one, or one for each of several seeds."""

    def __init__(
        self,
        trial: Any,
        settings: Mapping[str, Any],
        spec: SweepSpec,
        folder: Path,
        *,
        seeds: tuple[int | None, ...],
    ) -> None:
        """Prepare the trainings of a trial; none is started yet."""
        self.trial = trial
        self.settings = settings
        self.started = time.monotonic()
        self.trainings = [
            Training(spec, settings, _folder_of(folder, seed), seed=seed) for seed in seeds
        ]
        self.reported: list[float] = []
        self.stop_reason: str | None = None
        self.kill_at = math.inf
        self._n_ended = 0

    def note_ends(self) -> None:
        """Note which trainings have ended: what is read after it holds all their values."""
        self._n_ended = sum(training.is_ended() for training in self.trainings)

    @property
    def n_places(self) -> int:
        """Trainings that take the place of others: those that were begun and not noted as ended.

        So the last values of one are read before another is begun. A trial that is over keeps a
        place until its value is noted: the next choice builds on it.
        """
        n_begun = sum(training.process is not None for training in self.trainings)
        return n_begun - self._n_ended or int(self.is_over)

    @property
    def waiting(self) -> list[Training]:
        """Trainings that are still to be started."""
        if self.stop_reason is not None:
            return []
        return [training for training in self.trainings if training.process is None]

    @property
    def n_running(self) -> int:
        """Trainings whose process runs."""
        return sum(training.is_running() for training in self.trainings)

    @property
    def is_over(self) -> bool:
        """Whether nothing runs or waits any more."""
        return self.n_running == 0 and not self.waiting

    @property
    def seconds(self) -> float:
        """Time since the trial began."""
        return time.monotonic() - self.started

    def new_means(self) -> list[float]:
        """Return the means over the seeds of those values that all that were started have by now.

        With fewer jobs than seeds the first ones speak for the others: a trial that lags behind
        with them is stopped before the others are trained.
        """
        started = [training for training in self.trainings if training.process is not None]
        columns = [training.read_values() for training in started]
        if not columns:
            return []
        n = min(map(len, columns))
        first = len(self.reported)
        return [sum(c[i] for c in columns) / len(columns) for i in range(first, n)]

    def stop(self, reason: str, *, seconds: float) -> None:
        """Ask what runs to end, within so many seconds."""
        if self.stop_reason is None:
            self.stop_reason = reason
            self.kill_at = time.monotonic() + seconds
            for training in self.trainings:
                training.stop(signal.SIGTERM)

    def kill_if_late(self) -> None:
        """Kill what was asked to end and has not in time."""
        if time.monotonic() >= self.kill_at:
            for training in self.trainings:
                training.stop(signal.SIGKILL)

    def failure(self) -> str | None:
        """Return why a training failed; None while none has."""
        for training in self.trainings:
            if training.exit_code:
                return f"exit code {training.exit_code}: {training.last_output()}"
        return None


def _folder_of(folder: Path, seed: int | None) -> Path:
    return folder if seed is None else folder / f"seed={seed}"
