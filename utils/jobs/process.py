"""One process, its output in a file, and the ways to end it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from utils.storage import storage_errors

_PR_SET_PDEATHSIG = 1


class Job:
    """A command that runs as a process of its own, in a session of its own.

    A Ctrl-C at the terminal does not reach it, so that whoever started it decides what becomes of
    it; if that one dies, even by kill -9, the system sends it SIGTERM (Linux).
    """

    def __init__(self, command: Sequence[str], *, output: Path, cwd: Path | None = None) -> None:
        """Prepare a job; nothing runs yet.

        Args:
            command: Program and arguments.
            output: The file that gets the command line and all that it prints.
            cwd: Where it runs; None for the folder of this process.
        """
        self.command = list(command)
        self.output = output
        self.process: subprocess.Popen[bytes] | None = None
        self._cwd = cwd
        self._begins_at = 0

    def start(self) -> None:
        """Start the process.

        Raises:
            StorageError: The output cannot be written.
        """
        with storage_errors(self.output):
            self.output.parent.mkdir(parents=True, exist_ok=True)
            output = self.output.open("ab")
        with output:
            output.write(f"{shlex.join(self.command)}\n".encode())
            output.flush()
            self._begins_at = output.tell()
            self.process = subprocess.Popen(
                self.command,
                cwd=self._cwd,
                env=job_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    @property
    def exit_code(self) -> int | None:
        """How the process ended, negative for a signal; None before it has."""
        return None if self.process is None else self.process.poll()

    def is_ended(self) -> bool:
        """Say whether the process has begun and ended."""
        return self.exit_code is not None

    def is_running(self) -> bool:
        """Say whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def stop(self, number: signal.Signals) -> None:
        """Send SIGTERM to the process, or SIGKILL to it and all its workers."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if number is signal.SIGKILL:
                os.killpg(self.process.pid, number)
            elif self.process.poll() is None:
                self.process.send_signal(number)

    def last_output(self) -> str:
        """Return the line that says best why the process failed."""
        lines = self.lines()
        errors = [line for line in lines if line.startswith("error:")]
        return (errors or lines or ["no output"])[-1].removeprefix("error: ")

    def lines(self) -> list[str]:
        """Return what the process has printed so far, without empty lines."""
        text = self.output.read_bytes()[self._begins_at :].decode(errors="replace")
        return [line.strip() for line in text.splitlines() if line.strip()]


def job_environment() -> dict[str, str]:
    """Return the variables of a training: one thread, and nothing of a W&B sweep."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WANDB_SWEEP")}
    return {"OMP_NUM_THREADS": "1", **kept}


def usable_cores() -> int:
    """Return the processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _end_with_parent() -> None:
    """Let the system end this process when its starter dies (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
