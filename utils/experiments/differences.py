"""Which settings tell methods apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from utils.experiments.methods import Comparison, Method
from utils.experiments.records import show_value

_IDENTITY = frozenset({"seed"})
ABSENT = "(no such setting)"
_VARIES = "(varies)"


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting whose value is not the same everywhere."""

    key: str
    values: tuple[str, ...]
    """Of each method, in their order."""


def differing_settings(comparison: Comparison) -> list[Difference]:
    """Return the settings in which methods differ, or runs of one method; seeds aside."""
    keys = sorted(
        {
            key
            for method in comparison.methods
            for runs in method.runs.values()
            for record in runs
            for key in record.settings
        }
        - _IDENTITY
    )
    n_tasks = len(comparison.tasks)
    found = []
    for key in keys:
        of_tasks = {
            task: [_value(method, task, key) for method in comparison.methods]
            for task in comparison.tasks
        }
        # What differs from task to task alone belongs to the tasks, not to the methods.
        if all(len(set(values)) == 1 and values[0] != _VARIES for values in of_tasks.values()):
            continue
        merged = [
            _merge([of_tasks[t][i] for t in comparison.tasks])
            for i in range(len(comparison.methods))
        ]
        found.append(
            Difference(key, tuple(merged if n_tasks > 1 else of_tasks[comparison.tasks[0]]))
        )
    return found


def _value(method: Method, task: str, key: str) -> str:
    values = {
        show_value(record.settings[key]) if key in record.settings else ABSENT
        for record in method.runs[task]
    }
    return values.pop() if len(values) == 1 else _VARIES


def _merge(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else _VARIES
