"""Trials in processes of their own: one that crashes, hangs or leaks harms no other."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Literal

from utils.errors import MissingAssetError, MissingDependencyError, exit_on_user_error
from utils.smoke.sessions import end_session, wait_for_end
from utils.text_tables import format_table

Trial = Callable[[str], str]
"""Config id -> what was done, in a few words; it raises what goes wrong. Must be importable."""

_NOT_INSTALLED_CODE = 77
_WIDEST_REASON = 160
_GRACE_SECONDS = 5.0
"""How long the processes of a trial may outlive it; multiprocessing's own take a moment."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """How one config fared."""

    config_id: str
    outcome: Literal["ok", "failed", "not installed"]
    seconds: float
    """Wall time, the start of the process included."""
    reason: str
    """What was done, or what went wrong."""


def run_trials(
    trial: Trial,
    config_ids: Sequence[str],
    *,
    timeout_seconds: float,
    preload: Sequence[str],
    n_jobs: int = 1,
) -> Generator[TrialResult, None, None]:
    """Run a trial for each config, some of them at a time.

    Args:
        trial: What is tried.
        config_ids: For which configs.
        timeout_seconds: After this long a trial is ended and has failed.
        preload: Heavy modules that trials import; loaded once where the system can fork.
        n_jobs: Trials at a time, >= 1.

    Yields:
        Each result as soon as it is known, in the order in which they end.
    """
    can_fork = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if can_fork else "spawn")
    if can_fork:
        context.set_forkserver_preload(list(preload))
    waiting = list(reversed(config_ids))
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                running.append(_Running(context, trial, waiting.pop(), timeout_seconds))
            remaining = min(item.deadline for item in running) - time.perf_counter()
            wait([item.process.sentinel for item in running], timeout=max(remaining, 0))
            for item in [item for item in running if item.is_over()]:
                running.remove(item)
                yield item.finish()
    finally:
        for item in running:
            item.finish()


class _Running:
    """One trial under way."""

    def __init__(self, context: Any, trial: Trial, config_id: str, timeout_seconds: float) -> None:
        self._config_id = config_id
        self._timeout_seconds = timeout_seconds
        self._started = time.perf_counter()
        self.deadline = self._started + timeout_seconds
        self._output = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed by finish
            "r", suffix=".txt", encoding="utf-8", errors="replace"
        )
        arguments = (trial, config_id, self._output.name)
        self.process: BaseProcess = context.Process(target=_work, args=arguments)
        self.process.start()

    def is_over(self) -> bool:
        """Say whether it ended or its time is up."""
        return not self.process.is_alive() or time.perf_counter() >= self.deadline

    def finish(self) -> TrialResult:
        """End what is left of it and judge it."""
        is_late = self.process.is_alive()
        if is_late:
            _end(self.process)
        self.process.join()
        pid = self.process.pid
        assert pid is not None, self._config_id
        left = wait_for_end(pid, seconds=0.0 if is_late else _GRACE_SECONDS)
        end_session(pid)
        lines = [line for line in self._output.read().splitlines() if line.strip()]
        self._output.close()
        last = lines[-1].strip() if lines else ""
        seconds = time.perf_counter() - self._started
        if is_late:
            reason = f"not through after {self._timeout_seconds:g} s; {last}"
            return _judge(self._config_id, None, seconds, reason)
        if left and self.process.exitcode == 0:
            reason = f"processes are left: {', '.join(left)}"
            return TrialResult(self._config_id, "failed", seconds, reason)
        return _judge(self._config_id, self.process.exitcode, seconds, last)


def _judge(config_id: str, code: int | None, seconds: float, reason: str) -> TrialResult:
    reason = reason.removeprefix("error: ")
    if code == 0:
        return TrialResult(config_id, "ok", seconds, reason)
    if code == _NOT_INSTALLED_CODE:
        return TrialResult(config_id, "not installed", seconds, reason)
    if code is not None and code < 0:
        reason = f"ended by signal {-code}; {reason}"
    return TrialResult(config_id, "failed", seconds, reason or f"exit code {code}")


def _end(process: BaseProcess) -> None:
    process.terminate()
    process.join(5)
    if process.is_alive():
        process.kill()
        process.join()


def _work(trial: Trial, config_id: str, output_path: str) -> None:
    """Run in the trial's process: everything that it prints goes to a file.

    It leads a session of its own, by which whatever it starts is found later.
    """
    if hasattr(os, "setsid"):
        os.setsid()
    output = os.open(output_path, os.O_WRONLY | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(output, stream.fileno())
    exit_on_user_error(lambda: _try(trial, config_id))


def _try(trial: Trial, config_id: str) -> int:
    try:
        done = trial(config_id)
    except (MissingDependencyError, MissingAssetError) as error:
        print(error, flush=True)
        return _NOT_INSTALLED_CODE
    left = [child.name for child in multiprocessing.active_children()]
    assert not left, f"processes are left: {', '.join(left)}"
    print(done, flush=True)
    return 0


def trial_table(results: Sequence[TrialResult]) -> str:
    """Return the results as a table, with a summary in the last line."""
    rows = [
        (r.config_id, r.outcome, f"{r.seconds:.1f}", _shorten(r.reason) or "-") for r in results
    ]
    counts = {
        outcome: sum(result.outcome == outcome for result in results)
        for outcome in ("ok", "failed", "not installed")
    }
    summary = ", ".join(f"{n} {outcome}" for outcome, n in counts.items() if n)
    return f"{format_table(('config', 'result', 'seconds', 'what'), rows)}\n{summary}"


def _shorten(reason: str) -> str:
    return reason if len(reason) <= _WIDEST_REASON else reason[: _WIDEST_REASON - 3] + "..."
