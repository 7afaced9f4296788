"""One seed of a group: its run, how it stands, and the process that trains it."""

from __future__ import annotations

import enum
import math
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_envs.compile_notice import COMPILING
from utils.jobs import Job
from utils.monitoring.run_view import RunView
from utils.run import Run, RunGroup, read_labels
from utils.run.run import CONFIG_NAME
from utils.storage import read_json

ROOT = Path(__file__).resolve().parents[2]


class State(enum.Enum):
    """How a seed stands."""

    WAITING = "waiting"
    STARTING = "starting"
    TRAINING = "training"
    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class Member:
    """One seed of a group."""

    def __init__(
        self, group: RunGroup, seed: int, arguments: list[str], run: Run | None = None
    ) -> None:
        """Take a seed.

        Args:
            group: It belongs to.
            seed: Of the run.
            arguments: What `train.py` is given besides.
            run: Its newest run; None before there is one.
        """
        self.group = group
        self.seed = seed
        self.run = run
        self.job: Job | None = None
        self.view: RunView | None = None
        self.state = State.WAITING
        self.failure = ""
        """Why it failed, or what killed it."""
        self._arguments = arguments
        self.look()
        self.resumes = run is not None and run.has_checkpoint()

    def make_job(self) -> Job:
        """Return the process that trains the seed to its end; it is not started."""
        where = ["-q", "--runs-dir", str(self.group.runs_dir)]
        if self.resumes:
            assert self.run is not None
            words = ["--resume", str(self.run.path)]
        else:
            self.run = self.view = None
            words = [*self._arguments, "--seed", str(self.seed), "--group", self.group.id]
        command = [sys.executable, str(ROOT / "train.py"), *words, *where]
        self.job = Job(command, output=self.group.output_path(self.seed))
        self.state = State.WAITING
        return self.job

    def look(self) -> None:
        """Bring the state up to date."""
        job = self.job
        status = {} if self.run is None else self.run.read_status()
        if job is not None and not job.is_ended():
            self._look_at_process(job)
        elif status.get("status") == "completed":
            self.state = State.COMPLETED
        elif status.get("status") == "failed" or _has_failed(job):
            self.state = State.FAILED
            failure = job.last_output() if job is not None else status.get("reason", "")
            self.failure = str(failure)
        elif job is not None or status:
            self.state = State.INTERRUPTED
            self.failure = _name_signal(job)

    def _look_at_process(self, job: Job) -> None:
        if job.process is None:
            self.state = State.WAITING
        else:
            self.state = State.STARTING if self.run is None else State.TRAINING

    @property
    def notice(self) -> str:
        """What the process has said of compiling, while it has no run yet; "" if nothing."""
        if self.state is not State.STARTING or self.job is None:
            return ""
        said = [line for line in self.job.lines() if line.startswith(COMPILING)]
        return said[-1] if said else ""

    @property
    def run_name(self) -> str:
        """Name of the run's folder; `-` before there is one."""
        return "-" if self.run is None else self.run.path.name

    def refresh_view(self) -> None:
        """Read what is new of the run's metrics."""
        if self.run is not None and self.view is None:
            self.view = RunView(self.run)
        if self.view is not None:
            self.view.refresh(patience_seconds=0.05)

    def test_mean(self, name: str) -> float | None:
        """Return the mean test return of the `best` or the `last` policy, if it was tested."""
        results = {} if self.run is None else read_json(self.run.results_path) or {}
        test = results.get("test")
        result = test.get(name) if isinstance(test, Mapping) else None
        mean = result.get("mean") if isinstance(result, Mapping) else None
        return float(mean) if isinstance(mean, int | float) and math.isfinite(mean) else None


def _has_failed(job: Job | None) -> bool:
    """Say whether a process ended by itself, by no signal, and not well."""
    return job is not None and job.exit_code not in (None, 0, 130, 143) and job.exit_code > 0


def _name_signal(job: Job | None) -> str:
    """Say which signal ended a process that could not end by itself."""
    if job is None or job.exit_code is None or job.exit_code >= 0:
        return ""
    return f"killed by {signal.Signals(-job.exit_code).name}"


def list_members(group: RunGroup, record: Mapping[str, Any]) -> list[Member]:
    """Return the seeds of a group, in their order, each with its newest run."""
    runs = group.runs()
    arguments = [str(word) for word in record["arguments"]]
    return [Member(group, seed, arguments, runs.get(seed)) for seed in record["seeds"]]


class RunFinder:
    """Finds the runs that the processes of a group make; what was looked at is not read again."""

    def __init__(self, group: RunGroup) -> None:
        self._group = group
        self._seen = set(_names(group.runs_dir))

    def look(self, members: list[Member]) -> None:
        """Give new runs to the seeds that they are of."""
        by_seed = {member.seed: member for member in members}
        for name in sorted(set(_names(self._group.runs_dir)) - self._seen):
            folder = self._group.runs_dir / name
            config = read_json(folder / CONFIG_NAME)
            if config is None:
                continue  # it is being made
            self._seen.add(name)
            seed = config.get("seed")
            if read_labels(folder).group == self._group.id and seed in by_seed:
                member = by_seed[seed]
                member.run, member.view = Run(folder), None


def _names(runs_dir: Path) -> list[str]:
    return os.listdir(runs_dir) if runs_dir.is_dir() else []
