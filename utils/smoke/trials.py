"""Trials in processes of their own: one that crashes, hangs or leaks harms no other."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from typing import Literal

from utils.errors import MissingDependencyError, exit_on_user_error
from utils.text_tables import format_table

Trial = Callable[[str], str]
"""Config id -> what was done, in a few words; it raises what goes wrong. Must be importable."""

_NOT_INSTALLED_CODE = 77
_WIDEST_REASON = 160


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
    trial: Trial, config_ids: Sequence[str], *, timeout_seconds: float, preload: Sequence[str]
) -> Iterator[TrialResult]:
    """Run a trial for each config, one after the other.

    Args:
        trial: What is tried.
        config_ids: For which configs.
        timeout_seconds: After this long a trial is ended and has failed.
        preload: Heavy modules that trials import; loaded once where the system can fork.

    Yields:
        Each result as soon as it is known.
    """
    can_fork = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if can_fork else "spawn")
    if can_fork:
        context.set_forkserver_preload(list(preload))
    for config_id in config_ids:
        started = time.perf_counter()
        with tempfile.NamedTemporaryFile("r", suffix=".txt", encoding="utf-8") as output:
            process = context.Process(target=_work, args=(trial, config_id, output.name))
            process.start()
            process.join(timeout_seconds)
            is_late = process.is_alive()
            if is_late:
                _end(process)
            lines = [line for line in output.read().splitlines() if line.strip()]
        last = lines[-1].strip() if lines else ""
        reason = f"not through after {timeout_seconds:g} s; {last}" if is_late else last
        code = None if is_late else process.exitcode
        yield _judge(config_id, code, time.perf_counter() - started, reason)


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
    """Run in the trial's process: everything that it prints goes to a file."""
    output = os.open(output_path, os.O_WRONLY | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(output, stream.fileno())
    exit_on_user_error(lambda: _try(trial, config_id))


def _try(trial: Trial, config_id: str) -> int:
    try:
        done = trial(config_id)
    except MissingDependencyError as error:
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
