"""Which settings tell methods apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from utils.config import load_config_json
from utils.errors import ConfigError
from utils.experiments.cells import format_setting
from utils.experiments.methods import Comparison
from utils.experiments.records import Record, settings_of

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
    settings = {
        record.run.path: _settings(record)
        for method in comparison.methods
        for runs in method.runs.values()
        for record in runs
    }
    keys = sorted({key for of_run in settings.values() for key in of_run} - _IDENTITY)
    n_tasks = len(comparison.tasks)
    found = []
    for key in keys:
        of_tasks = {
            task: [
                _value([settings[r.run.path] for r in method.runs[task]], key)
                for method in comparison.methods
            ]
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


def _settings(record: Record) -> Mapping[str, Any]:
    """Return all settings of a run, those too that came after it, at what it did without them."""
    try:
        return settings_of(load_config_json(record.run.config_path).to_dict())
    except ConfigError:
        return record.settings


def _value(settings: Sequence[Mapping[str, Any]], key: str) -> str:
    values = {format_setting(of_run[key]) if key in of_run else ABSENT for of_run in settings}
    return values.pop() if len(values) == 1 else _VARIES


def _merge(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else _VARIES
