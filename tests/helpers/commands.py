"""`train.py` and `run_play.py` run as processes of their own, and what they leave."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_envs.compile_notice import COMPILING
from utils.run import Run

ROOT = Path(__file__).resolve().parents[2]
ENVS = "tests.helpers.envs:"
LONGEST_SECONDS = 300.0
"""Of a command that hangs; a busy machine takes its time for one that does not."""

# Twelve epochs of 128 timesteps with evaluations and saves in between.
SMALL = {
    "n_envs": 4,
    "n_steps": 32,
    "batch_size": 64,
    "n_epochs": 2,
    "max_timesteps": 1536,
    "eval_warmup_epochs": 4,
    "eval_freq_epochs": 4,
    "eval_episodes": 4,
    "eval_n_envs": 2,
    "test_episodes": 4,
    "video": "none",
    "checkpoint_freq_epochs": 5,
    "keep_checkpoints": 100,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    """Exit code; negative where a signal ended it."""
    out: str
    err: str
    session: int


class Command:
    """A command that runs in a session of its own."""

    def __init__(
        self,
        *argv: str,
        fault: str | None = None,
        reports: bool = False,
        environment: dict[str, str] | None = None,
        terminal: str | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        """Start a command.

        Args:
            argv: Name of an entry script, or of a module with a `main`, and its arguments.
            fault: What befalls it; see `tests.helpers.faults`.
            reports: Write the report of a finished run, which takes longer than a small run.
            environment: Variables that differ from this process's.
            terminal: The terminal that it is in, reads from and writes to; files if None.
            modules: What it imports beside what all commands need; loaded once for all of them.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="command-"))
        self._out, self._err = self._folder / "out", self._folder / "err"
        request = {
            "argv": argv,
            "fault": fault,
            "reports": reports,
            "environment": environment or {},
            "modules": list(modules),
            "in": terminal or os.devnull,
            "out": terminal or str(self._out),
            "err": terminal or str(self._err),
        }
        self.pid: int = _ask(request)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the command's process alone."""
        os.kill(self.pid, number)

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, once; None while it runs."""
        return _ask({"poll": self.pid})

    def wait(self, seconds: float = LONGEST_SECONDS) -> Finished:
        """Wait for the end; a command that takes longer is killed and fails the test."""
        deadline = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                os.killpg(self.pid, signal.SIGKILL)
                raise AssertionError(f"no end after {seconds} s: {self._err.read_text()}")
            time.sleep(0.01)
        out, err = self._out.read_text(), self._err.read_text()
        shutil.rmtree(self._folder)
        return Finished(code=code, out=out, err=err, session=self.pid)


def train(*arguments: str, runs_dir: Path, fault: str | None = None) -> Finished:
    """Run `train.py -q` to its end."""
    return Command("train", "-q", "--runs-dir", str(runs_dir), *arguments, fault=fault).wait()


def play(*arguments: str, runs_dir: Path) -> Finished:
    """Run `run_play.py` to its end, without pictures."""
    return Command("run_play", "--runs-dir", str(runs_dir), "--render", "none", *arguments).wait()


def settings(**changes: Any) -> list[str]:
    """Return the arguments that set each key to a value."""
    return [part for key, value in changes.items() for part in ("--set", _as_text(key, value))]


def small(config_id: str = "CartPole-v1:ppo", **changes: Any) -> list[str]:
    """Return the arguments of a run of a second; a change to None leaves the config's own value."""
    changed = {key: value for key, value in (SMALL | changes).items() if value is not None}
    return [config_id, *settings(**changed)]


def only_run(runs_dir: Path) -> Run:
    """Return the one run of a folder."""
    (path,) = runs_dir.iterdir()
    return Run(path)


def rows(run: Run) -> list[dict[str, Any]]:
    """Return the rows of metrics.jsonl without what a clock said."""
    return [_timeless(json.loads(line)) for line in run.metrics_jsonl.read_text().splitlines()]


def csv_rows(run: Run) -> list[dict[str, str]]:
    """Return the rows of metrics.csv as text, in the order of columns, without clock times."""
    header, *lines = (line.split(",") for line in run.metrics_csv.read_text().splitlines())
    return [_timeless(dict(zip(header, cells, strict=True))) for cells in lines]


def error_lines(finished: Finished) -> list[str]:
    """Return the lines of an error's output.

    Blank ones are left out, and what is said of compiling, which depends on what has run before.
    """
    lines = finished.err.splitlines()
    return [line for line in lines if line.strip() and not line.startswith(COMPILING)]


def processes_left(session: int, *, seconds: float = 60.0) -> list[int]:
    """Return the processes of a session that do not end by themselves within some seconds."""
    deadline = time.monotonic() + seconds
    while (left := _processes_of(session)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _processes_of(session: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(entry.name))
    return found


def _timeless(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if "/time/" not in key}


def _as_text(key: str, value: Any) -> str:
    return f"{key}={value if isinstance(value, str) else json.dumps(value)}"


@functools.cache
def _zygote() -> subprocess.Popen[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.zygote"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _ask(request: dict[str, Any]) -> Any:
    process = _zygote()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer, "the process that runs the commands of the tests has ended"
    return json.loads(answer)
