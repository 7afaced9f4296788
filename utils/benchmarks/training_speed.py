"""Whole trainings timed in turns, and whole processes timed until the task is solved."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.benchmarks.contest import Score, median
from utils.errors import RunFailedError

ROOT = Path(__file__).resolve().parents[2]


def time_trainings(
    trainings: Mapping[str, Callable[[int], Callable[[], None]]],
    *,
    timesteps: int,
    seeds: Sequence[int],
) -> list[Score]:
    """Train each contestant once for every seed, in turns.

    Args:
        trainings: Name -> function of the seed that prepares a training and returns it; only
            the training itself is timed.
        timesteps: Environment steps of each training.
        seeds: One round for each.

    Returns:
        Rates in timesteps a second.
    """
    windows: dict[str, list[tuple[float, float]]] = {name: [] for name in trainings}
    for i, seed in enumerate(seeds):
        order = list(trainings) if i % 2 == 0 else list(trainings)[::-1]
        for name in order:
            train = trainings[name](seed)
            started, cpu_started = time.perf_counter(), time.process_time()
            train()
            seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
            windows[name].append((timesteps / seconds, timesteps / cpu_seconds))
    return [Score(name, *zip(*values, strict=True)) for name, values in windows.items()]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one process."""

    name: str
    seed: int
    seconds: float
    """Wall time from its start to the result, imports included."""
    total_seconds: float
    """Wall time to the end of the process: films and reports may follow the result."""
    cpu_seconds: float
    """Processor time of the whole process; nearly untouched by other load."""
    timesteps: int
    mean: float
    """Greedy mean return over fresh episodes."""


@dataclass(frozen=True, slots=True)
class Solver:
    """A program that trains until the task is solved, and prints nothing before its result."""

    name: str
    command: Callable[[int], list[str]]
    """Seed -> command line, run in the project's folder."""
    read: Callable[[int, str], tuple[int, float]]
    """Seed and standard output -> timesteps and greedy mean return."""


def time_solvers(
    solvers: Sequence[Solver], *, seeds: Sequence[int], tell: Callable[[Outcome], None]
) -> list[Outcome]:
    """Run every solver for every seed, in turns.

    Args:
        solvers: Who takes part.
        seeds: One round for each.
        tell: Hears of each outcome at once.

    Raises:
        RunFailedError: A process failed.
    """
    outcomes = []
    for i, seed in enumerate(seeds):
        for solver in solvers if i % 2 == 0 else reversed(solvers):
            outcome = _run(solver, seed)
            tell(outcome)
            outcomes.append(outcome)
    return outcomes


def run_untimed(command: Sequence[str]) -> None:
    """Run a program before the measurements, so that what it keeps on disk is there for them.

    Args:
        command: Run in the project's folder.

    Raises:
        RunFailedError: It failed.
    """
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        last = (process.stderr.strip() or "no message").splitlines()[-1]
        raise RunFailedError(f"{' '.join(command)}: exit code {process.returncode}: {last}")


def _run(solver: Solver, seed: int) -> Outcome:
    before = os.times()
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            solver.command(seed),
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        with process:
            assert process.stdout is not None
            output = process.stdout.readline()
            seconds = time.perf_counter() - started
            output += process.stdout.read()
        total_seconds = time.perf_counter() - started
        if process.returncode != 0:
            errors.seek(0)
            last = (errors.read().strip() or "no message").splitlines()[-1]
            code = process.returncode
            raise RunFailedError(f"{solver.name}, seed {seed}: exit code {code}: {last}")
    after = os.times()
    timesteps, mean = solver.read(seed, output)
    cpu_seconds = (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )
    return Outcome(solver.name, seed, seconds, total_seconds, cpu_seconds, timesteps, mean)


@dataclass(frozen=True, slots=True)
class SolveSummary:
    """All outcomes of one solver."""

    name: str
    n_solved: int
    n_runs: int
    median_seconds: float
    """Wall time to the result; a seed that was not solved counts as infinite."""
    median_total_seconds: float
    median_cpu_seconds: float
    median_timesteps: float


def outcome_row(outcome: Outcome) -> tuple[str, ...]:
    """Return the cells of one outcome."""
    return (
        outcome.name,
        str(outcome.seed),
        f"{outcome.seconds:.2f}",
        f"{outcome.total_seconds:.2f}",
        f"{outcome.cpu_seconds:.2f}",
        f"{outcome.timesteps:,}",
        f"{outcome.mean:.1f}",
    )


OUTCOME_HEADER = ("", "seed", "seconds", "to the end", "CPU s", "timesteps", "greedy mean")


def summary_row(summary: SolveSummary) -> tuple[str, ...]:
    """Return the cells of one solver."""
    return (
        summary.name,
        f"{summary.n_solved}/{summary.n_runs}",
        f"{summary.median_seconds:.2f}",
        f"{summary.median_total_seconds:.2f}",
        f"{summary.median_cpu_seconds:.2f}",
        f"{summary.median_timesteps:,.0f}",
    )


SUMMARY_HEADER = ("median of seeds", "solved", "seconds", "to the end", "CPU s", "timesteps")


def summarize(outcomes: Sequence[Outcome], name: str, *, threshold: float) -> SolveSummary:
    """Summarise the outcomes of one solver; one that missed the threshold took for ever."""
    own = [outcome for outcome in outcomes if outcome.name == name]
    solved = [outcome.mean >= threshold for outcome in own]

    def over(values: Sequence[float]) -> float:
        return median([v if ok else float("inf") for v, ok in zip(values, solved, strict=True)])

    return SolveSummary(
        name=name,
        n_solved=sum(solved),
        n_runs=len(own),
        median_seconds=over([outcome.seconds for outcome in own]),
        median_total_seconds=over([outcome.total_seconds for outcome in own]),
        median_cpu_seconds=over([outcome.cpu_seconds for outcome in own]),
        median_timesteps=over([outcome.timesteps for outcome in own]),
    )
