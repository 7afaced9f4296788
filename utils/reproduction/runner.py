"""Trainings in processes side by side; those that were done before are not done again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.config import Config, load_config, load_config_json
from utils.errors import ConfigError
from utils.run.registry import list_runs
from utils.run.run import Run
from utils.storage import read_json

ROOT = Path(__file__).resolve().parents[2]
_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 30.0
_STATUS_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Job:
    """One training of one config with one seed."""

    config_id: str
    seed: int
    overrides: tuple[str, ...] = ()
    """`key=value`, for all that differs from the config file."""

    def folder(self, out: Path) -> Path:
        """Return the folder that holds the runs of this job alone."""
        return out / self.config_id.replace("/", "-").replace(":", "-") / f"seed={self.seed}"

    @property
    def settings(self) -> tuple[str, ...]:
        """All settings that are laid over the config file's."""
        return (*self.overrides, f"seed={self.seed}")

    def command(self, out: Path) -> list[str]:
        """Return the command that a person would type."""
        sets = [part for override in self.overrides for part in ("--set", override)]
        where = ["--seed", str(self.seed), "--runs-dir", str(self.folder(out))]
        return [sys.executable, str(ROOT / "train.py"), self.config_id, "-q", *where, *sets]


def find_result(job: Job, out: Path) -> tuple[Run, Mapping[str, Any]] | None:
    """Return the newest finished run of a job, and its result; None where there is none.

    A run counts only if its stored config means what the job's config means today; a setting that
    it does not know, since it is a newer one, has to be at its default.
    """
    wanted = load_config(job.config_id, job.settings)
    for run in list_runs(job.folder(out)):
        result = read_json(run.results_path)
        if result is not None and _read_config(run) == wanted:
            return run, result
    return None


def _read_config(run: Run) -> Config | None:
    """Return the config of a run; None if it is none that can be trained today."""
    try:
        return load_config_json(run.config_path)
    except ConfigError:
        return None


def find_unfinished(job: Job, out: Path) -> Run | None:
    """Return the newest run of a job that was stopped and can go on; None where there is none."""
    wanted = load_config(job.config_id, job.settings)
    for run in list_runs(job.folder(out)):
        is_stopped = run.read_status()["status"] in ("interrupted", "died")
        if is_stopped and run.has_checkpoint() and _read_config(run) == wanted:
            return run
    return None


@dataclass(slots=True)
class _Running:
    job: Job
    process: subprocess.Popen[str]
    started: float

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.perf_counter() - self.started


def run_jobs(
    jobs: Sequence[Job],
    out: Path,
    *,
    n_processes: int,
    tell: Callable[[str], None],
    seconds: Mapping[str, float] | None = None,
) -> list[str]:
    """Train all jobs that have no result yet; one that was stopped goes on where it was.

    Args:
        jobs: What to train, in this order.
        out: Folder of all results.
        n_processes: Trainings side by side, with one thread each.
        tell: Hears of every end, and once a minute how far it is.
        seconds: What one training of a config takes, where that is known.

    Returns:
        One line per job that failed.
    """
    waiting = [job for job in jobs if find_result(job, out) is None]
    tell(f"{len(jobs) - len(waiting)} of {len(jobs)} trainings are there already")
    clock = TimeLeft(seconds or {}, n_processes)
    running: list[_Running] = []
    failures: list[str] = []
    told = time.perf_counter()
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                running.append(_start(waiting.pop(0), out))
            time.sleep(_POLL_SECONDS)
            for ended in [item for item in running if item.process.poll() is not None]:
                running.remove(ended)
                clock.note(ended.job.config_id, ended.seconds)
                line, is_failure = _describe_end(ended, out)
                tell(f"{line}; {_describe_rest(clock, waiting, running)}")
                failures += [line] if is_failure else []
            if time.perf_counter() - told > _STATUS_SECONDS:
                told = time.perf_counter()
                names = ", ".join(
                    f"{item.job.config_id} seed {item.job.seed} ({item.seconds:,.0f} s)"
                    for item in running
                )
                tell(f"running: {names}; {_describe_rest(clock, waiting, running)}")
    finally:
        _stop([item.process for item in running])
    return failures


class TimeLeft:
    """How long trainings will take, by what those before them took."""

    def __init__(self, seconds: Mapping[str, float], n_processes: int) -> None:
        """Begin with what is known of configs.

        Args:
            seconds: One training of a config, on whatever machine that was.
            n_processes: Trainings side by side.
        """
        self._known, self._n_processes = dict(seconds), n_processes
        self._taken: dict[str, list[float]] = {}

    def note(self, config_id: str, seconds: float) -> None:
        """Take in that a training took so long."""
        self._taken.setdefault(config_id, []).append(seconds)

    @property
    def _slowdown(self) -> float:
        """How many times longer than was known trainings take here."""
        pairs = [
            (taken, self._known[config_id])
            for config_id, group in self._taken.items()
            if self._known.get(config_id)
            for taken in group
        ]
        return sum(taken for taken, _ in pairs) / sum(known for _, known in pairs) if pairs else 1.0

    def of(self, config_id: str) -> float | None:
        """Return the seconds of one training; None where nothing tells."""
        taken = self._taken.get(config_id)
        if taken:
            return sum(taken) / len(taken)
        known = self._known.get(config_id)
        return None if known is None else known * self._slowdown

    def left(self, waiting: Sequence[str], running: Sequence[tuple[str, float]]) -> float | None:
        """Return the wall time until all is done, or None where it cannot be known.

        Args:
            waiting: Config ids of what has not begun.
            running: Config id and seconds so far of what runs.
        """
        ahead = [self.of(config_id) for config_id in waiting]
        rest = []
        for config_id, so_far in running:
            whole = self.of(config_id)
            rest.append(None if whole is None else max(0.0, whole - so_far))
        if None in ahead or None in rest:
            return None
        total = sum(ahead) + sum(rest)  # type: ignore[arg-type]
        return max([total / self._n_processes, *rest])  # type: ignore[type-var, list-item]


def _describe_rest(clock: TimeLeft, waiting: Sequence[Job], running: Sequence[_Running]) -> str:
    text = f"{len(waiting) + len(running)} left"
    seconds = clock.left(
        [job.config_id for job in waiting], [(r.job.config_id, r.seconds) for r in running]
    )
    is_known = seconds is not None and (waiting or running)
    return f"{text}, about {describe_seconds(seconds)}" if is_known else text


def describe_seconds(seconds: float) -> str:
    """Return a length of time in words: `45 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _start(job: Job, out: Path) -> _Running:
    folder = job.folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "output.txt").open("w", encoding="utf-8") as output:
        unfinished = find_unfinished(job, out)
        process = subprocess.Popen(
            job.command(out) if unfinished is None else _resume(unfinished),
            cwd=ROOT,
            # Ctrl-C in the terminal reaches this process alone, which passes on one signal: a
            # training saves itself at the first one and not at the second.
            start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return _Running(job, process, time.perf_counter())


def _resume(run: Run) -> list[str]:
    return [sys.executable, str(ROOT / "train.py"), "--resume", str(run.path.resolve()), "-q"]


def _describe_end(ended: _Running, out: Path) -> tuple[str, bool]:
    job, code = ended.job, ended.process.returncode
    name = f"{job.config_id} seed {job.seed}"
    seconds = ended.seconds
    found = find_result(job, out)
    if code == 0 and found is not None:
        mean = found[1]["test"]["best"]["mean"]
        return f"{name}: best policy {mean:.2f} after {seconds:,.0f} s", False
    lines = (job.folder(out) / "output.txt").read_text(encoding="utf-8").splitlines()
    return f"{name}: exit code {code}: {lines[-1] if lines else 'no output'}", True


def _stop(processes: Sequence[subprocess.Popen[str]]) -> None:
    """End what still runs; a first signal lets a training save itself."""
    for process in processes:
        process.terminate()
    deadline = time.perf_counter() + _PATIENCE_SECONDS
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.perf_counter()))
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # or a person has waited enough
            process.kill()
            process.wait()
