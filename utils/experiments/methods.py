"""Runs sorted into what is compared: methods, tasks, and one score of each run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from utils.errors import UserError
from utils.experiments.cells import format_setting
from utils.experiments.filters import canonical_key, check_key
from utils.experiments.records import TEST_KEY, Record

_SHORT = {
    "test": TEST_KEY,
    "best": "val/best/ep_rew_mean",
    "last": "test/last/ep_rew_mean",
    "mean": "val/mean/ep_rew_mean",
}
_MOST_METHODS = 12


@dataclass(frozen=True, slots=True)
class Scale:
    """How the returns of a task become scores that can be put together with other tasks'."""

    low: float
    """The return that counts as 0."""
    high: float
    """The return that counts as 1."""
    reason: str
    """Where the two come from, for people."""

    def apply(self, value: np.ndarray) -> np.ndarray:
        """Return normalised scores."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Method:
    """The runs of one method, by task."""

    name: str
    runs: Mapping[str, tuple[Record, ...]]
    scores: Mapping[str, np.ndarray]
    """For each task (n,) float64, in the order of `runs`, in the unit of the metric."""

    @property
    def n_runs(self) -> int:
        """Runs of all tasks."""
        return sum(len(runs) for runs in self.runs.values())

    @property
    def n_repeats(self) -> int:
        """Runs whose settings and seed another run of the method has too."""
        texts = [
            json.dumps(record.settings, sort_keys=True, default=str)
            for runs in self.runs.values()
            for record in runs
        ]
        return len(texts) - len(set(texts))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared, and by what."""

    methods: tuple[Method, ...]
    tasks: tuple[str, ...]
    metric: str
    by: str
    scales: Mapping[str, Scale] = field(default_factory=dict)
    """Of each task where there are several; with one task scores stay in their unit."""
    target: float | None = None
    """Score that an optimality gap is measured from; None where no one knows it."""
    n_without_score: int = 0
    """Runs that were selected and have no value of the metric."""

    def strata(self, method: Method) -> list[np.ndarray]:
        """Return the scores of a method for each task, normalised where there are several."""
        if not self.scales:
            return [method.scores[task] for task in self.tasks]
        return [self.scales[task].apply(method.scores[task]) for task in self.tasks]


def compare_methods(
    records: Sequence[Record],
    *,
    by: str | None,
    metric: str,
    target: float | None = None,
    everything: Sequence[Record] = (),
) -> Comparison:
    """Sort runs into methods and tasks.

    Args:
        records: The runs to compare.
        by: Key whose values are the methods; None for the first of config, group and algo that
            tells them apart (config where nothing does).
        metric: Key of the score, or test, best, last, mean.
        target: Return (with one task) or score that an optimality gap is measured from; None for
            what the task says.
        everything: All runs of the folder, in which those of random actions may be.

    Raises:
        UserError: Nothing has a score, a key is unknown, or a method lacks a task.
    """
    metric = _SHORT.get(metric, metric)
    check_key(metric, records)
    by = _choose_key(records) if by is None else canonical_key(by)
    check_key(by, records)
    scored = [record for record in records if _score(record, metric) is not None]
    if not scored:
        raise UserError(
            f"none of the {len(records)} selected runs has a finite '{metric}': have they ended?"
        )
    table: dict[str, dict[str, list[Record]]] = {}
    for record in reversed(scored):  # the oldest first, so that tables do not move
        name = method_name(record, by)
        table.setdefault(name, {}).setdefault(str(record.columns["env"]), []).append(record)
    tasks = tuple(sorted({task for runs in table.values() for task in runs}))
    _check_complete(table, tasks)
    methods = tuple(
        Method(
            name,
            {task: tuple(runs[task]) for task in tasks},
            {task: np.array([_score(r, metric) for r in runs[task]]) for task in tasks},
        )
        for name, runs in sorted(table.items())
    )
    scales = _scales(methods, tasks, metric, everything) if len(tasks) > 1 else {}
    if target is None:
        target = 1.0 if scales else _solved_at(scored, metric)
    return Comparison(methods, tasks, metric, by, scales, target, len(records) - len(scored))


def method_name(record: Record, by: str) -> str:
    """Return the method that a run belongs to; runs without a value have `-`."""
    value = record.value(by)
    return "-" if value in (None, "", []) else format_setting(value)


def _choose_key(records: Sequence[Record]) -> str:
    n_tasks = len({record.columns["env"] for record in records})
    keys = ("config", "group", "algo") if n_tasks == 1 else ("algo", "variant", "group")
    for key in keys:
        if len({method_name(record, key) for record in records}) > 1:
            return key
    return keys[0]


def _check_complete(table: Mapping[str, Mapping[str, object]], tasks: Sequence[str]) -> None:
    if len(table) > _MOST_METHODS:
        raise UserError(
            f"{len(table)} methods are too many to compare; narrow the filters, or --by"
        )
    lacking = [
        f"'{name}' has no run of {', '.join(sorted(set(tasks) - runs.keys()))}"
        for name, runs in table.items()
        if set(tasks) - runs.keys()
    ]
    if lacking:
        raise UserError(
            "aggregates over tasks need every method on every task; narrow them with env=...: "
            + "; ".join(lacking)
        )


def _score(record: Record, metric: str) -> float | None:
    value = record.value(metric)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _solved_at(records: Sequence[Record], metric: str) -> float | None:
    """Return the task's threshold, which is one of returns."""
    found = {record.solved_at for record in records}
    return found.pop() if len(found) == 1 and "ep_rew" in metric else None


def _scales(
    methods: Sequence[Method], tasks: Sequence[str], metric: str, everything: Sequence[Record]
) -> dict[str, Scale]:
    return {task: _scale(methods, task, metric, everything) for task in tasks}


def _scale(
    methods: Sequence[Method], task: str, metric: str, everything: Sequence[Record]
) -> Scale:
    """Choose what counts as 0 and 1: random actions and solved, else the worst and best run."""
    values = np.concatenate([method.scores[task] for method in methods])
    random = [
        score
        for record in everything
        if record.columns["env"] == task and record.columns["algo"] == "random"
        if (score := _score(record, metric)) is not None
    ]
    solved = _solved_at([r for method in methods for r in method.runs[task]], metric)
    low, why_low = (
        (float(np.mean(random)), "random actions")
        if random
        else (float(values.min()), "the worst run")
    )
    high, why_high = (
        (solved, "solved") if solved is not None else (float(values.max()), "the best run")
    )
    if high <= low:
        low, high, why_low, why_high = low, low + 1.0, why_low, "one more"
    return Scale(low, high, f"0 is {low:,.4g} ({why_low}), 1 is {high:,.4g} ({why_high})")
