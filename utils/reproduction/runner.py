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


@dataclass(slots=True)
class _Running:
    job: Job
    process: subprocess.Popen[str]
    started: float


def run_jobs(
    jobs: Sequence[Job],
    out: Path,
    *,
    n_processes: int,
    tell: Callable[[str], None],
) -> list[str]:
    """Train all jobs that have no result yet.

    Args:
        jobs: What to train, in this order.
        out: Folder of all results.
        n_processes: Trainings side by side, with one thread each.
        tell: Hears of every start and end.

    Returns:
        One line per job that failed.
    """
    waiting = [job for job in jobs if find_result(job, out) is None]
    tell(f"{len(jobs) - len(waiting)} of {len(jobs)} trainings are there already")
    running: list[_Running] = []
    failures: list[str] = []
    n_left = len(waiting)
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                running.append(_start(waiting.pop(0), out))
            time.sleep(_POLL_SECONDS)
            for ended in [item for item in running if item.process.poll() is not None]:
                running.remove(ended)
                n_left -= 1
                line, is_failure = _describe_end(ended, out)
                tell(f"{line}; {n_left} left")
                failures += [line] if is_failure else []
    finally:
        _stop([item.process for item in running])
    return failures


def _start(job: Job, out: Path) -> _Running:
    folder = job.folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "output.txt").open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            job.command(out),
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return _Running(job, process, time.perf_counter())


def _describe_end(ended: _Running, out: Path) -> tuple[str, bool]:
    job, code = ended.job, ended.process.returncode
    name = f"{job.config_id} seed {job.seed}"
    seconds = time.perf_counter() - ended.started
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
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
