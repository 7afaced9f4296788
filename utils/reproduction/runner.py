"""Trainings in processes side by side; those that were done before are not done again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.config import Config, load_config, load_config_json
from utils.errors import ConfigError
from utils.jobs import Job as Process
from utils.reproduction.time_left import TimeLeft, describe_seconds
from utils.run.heartbeat import LOCK_NAME
from utils.run.lock import RunLock
from utils.run.registry import list_runs
from utils.run.run import Run
from utils.run.status import is_elsewhere
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
    process: Process
    lock: RunLock
    """On the job's folder, so that no other suite trains the same."""
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

    Several processes may work on one folder: what another one trains is waited for.

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
    awaited: set[Job] = set()
    told = time.perf_counter()
    try:
        while waiting or running:
            _fill(waiting, running, out, n_processes=n_processes, awaited=awaited, tell=tell)
            time.sleep(_POLL_SECONDS)
            for ended in [item for item in running if item.process.is_ended()]:
                running.remove(ended)
                ended.lock.release()
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
                tell(f"running: {names or '-'}; {_describe_rest(clock, waiting, running)}")
    finally:
        _stop(running)
    return failures


def _fill(
    waiting: list[Job],
    running: list[_Running],
    out: Path,
    *,
    n_processes: int,
    awaited: set[Job],
    tell: Callable[[str], None],
) -> None:
    """Start what waits, up to so many; what another process trains goes on waiting."""
    for job in list(waiting):
        if len(running) >= n_processes:
            return
        name = f"{job.config_id} seed {job.seed}"
        lock = _take(job, out)
        if isinstance(lock, str):
            if job not in awaited:
                awaited.add(job)
                tell(f"{name}: {lock} trains it; its result is waited for")
            continue
        waiting.remove(job)
        if find_result(job, out) is not None:
            lock.release()
            tell(f"{name}: another process has trained it")
            continue
        for line in _describe_lost(job, out):
            tell(f"{name}: {line}")
        running.append(_start(job, out, lock))


def _take(job: Job, out: Path) -> RunLock | str:
    """Lock the folder of a job; who works on it, if another suite or a training that it left."""
    folder = job.folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = RunLock(folder)
    except ConfigError:
        return f"another process (which holds '{folder / LOCK_NAME}')"
    for run in list_runs(folder):
        status = run.read_status()
        if status["status"] == "running":
            lock.release()
            where = f" on {status.get('host')}" if is_elsewhere(status) else ""
            return f"another process{where}"
    return lock


def _describe_lost(job: Job, out: Path) -> list[str]:
    """Say which trainings of a job are given up, for their machines say nothing any more."""
    statuses = [(run.id, run.read_status()) for run in list_runs(job.folder(out))]
    return [
        f"run {run_id} was trained on {status.get('host')}, which has given no sign of life for "
        f"{describe_seconds(status['silent_seconds'])}: it counts as lost"
        for run_id, status in statuses
        if "silent_seconds" in status
    ]


def _describe_rest(clock: TimeLeft, waiting: Sequence[Job], running: Sequence[_Running]) -> str:
    text = f"{len(waiting) + len(running)} left"
    seconds = clock.left(
        [job.config_id for job in waiting], [(r.job.config_id, r.seconds) for r in running]
    )
    is_known = seconds is not None and (waiting or running)
    return f"{text}, about {describe_seconds(seconds)}" if is_known else text


def _start(job: Job, out: Path, lock: RunLock) -> _Running:
    unfinished = find_unfinished(job, out)
    command = job.command(out) if unfinished is None else _resume(unfinished)
    process = Process(command, output=job.folder(out) / "output.txt", cwd=ROOT)
    process.start()
    return _Running(job, process, lock, time.perf_counter())


def _resume(run: Run) -> list[str]:
    return [sys.executable, str(ROOT / "train.py"), "--resume", str(run.path.resolve()), "-q"]


def _describe_end(ended: _Running, out: Path) -> tuple[str, bool]:
    job, code = ended.job, ended.process.exit_code
    name = f"{job.config_id} seed {job.seed}"
    seconds = ended.seconds
    found = find_result(job, out)
    if code == 0 and found is not None:
        mean = found[1]["test"]["best"]["mean"]
        what = "no test episode ended in time" if mean is None else f"best policy {mean:.2f}"
        return f"{name}: {what} after {seconds:,.0f} s", False
    return f"{name}: exit code {code}: {ended.process.last_output()}", True


def _stop(running: Sequence[_Running]) -> None:
    """End what still runs; a first signal lets a training save itself."""
    for item in running:
        item.process.stop(signal.SIGTERM)
    deadline = time.perf_counter() + _PATIENCE_SECONDS
    for item in running:
        process = item.process.process
        assert process is not None
        try:
            process.wait(max(0.0, deadline - time.perf_counter()))
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # or a person has waited enough
            item.process.stop(signal.SIGKILL)
            process.wait()
        item.lock.release()
