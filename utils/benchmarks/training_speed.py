"""Whole trainings timed in turns, and whole processes timed until the task is solved."""

from __future__ import annotations

import os
import subprocess
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
    """Wall time from its start to its end, imports included."""
    cpu_seconds: float
    """Processor time, its children's included; nearly untouched by other load."""
    timesteps: int
    mean: float
    """Greedy mean return over fresh episodes."""


@dataclass(frozen=True, slots=True)
class Solver:
    """A program that trains until the task is solved."""

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


def _run(solver: Solver, seed: int) -> Outcome:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    before = os.times()
    started = time.perf_counter()
    done = subprocess.run(
        solver.command(seed),
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    after = os.times()
    if done.returncode != 0:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise RunFailedError(f"{solver.name}, seed {seed}: exit code {done.returncode}: {last}")
    timesteps, mean = solver.read(seed, done.stdout)
    cpu_seconds = (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )
    return Outcome(solver.name, seed, seconds, cpu_seconds, timesteps, mean)


@dataclass(frozen=True, slots=True)
class SolveSummary:
    """All outcomes of one solver."""

    name: str
    n_solved: int
    n_runs: int
    median_seconds: float
    """Wall time; a seed that was not solved counts as infinite."""
    median_cpu_seconds: float
    median_timesteps: float


def outcome_row(outcome: Outcome) -> tuple[str, ...]:
    """Return the cells of one outcome."""
    return (
        outcome.name,
        str(outcome.seed),
        f"{outcome.seconds:.2f}",
        f"{outcome.cpu_seconds:.2f}",
        f"{outcome.timesteps:,}",
        f"{outcome.mean:.1f}",
    )


OUTCOME_HEADER = ("", "seed", "seconds", "CPU s", "timesteps", "greedy mean")


def summary_row(summary: SolveSummary) -> tuple[str, ...]:
    """Return the cells of one solver."""
    return (
        summary.name,
        f"{summary.n_solved}/{summary.n_runs}",
        f"{summary.median_seconds:.2f}",
        f"{summary.median_cpu_seconds:.2f}",
        f"{summary.median_timesteps:,.0f}",
    )


SUMMARY_HEADER = ("median of seeds", "solved", "seconds", "CPU s", "timesteps")


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
        median_cpu_seconds=over([outcome.cpu_seconds for outcome in own]),
        median_timesteps=over([outcome.timesteps for outcome in own]),
    )
