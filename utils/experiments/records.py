"""One run as a flat record: what it is, how it stands, what came of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.config.migrations import migrate
from utils.errors import ConfigError, StorageError
from utils.run import Run, read_labels
from utils.run.labels import LABELS_NAME
from utils.run.status import interpret
from utils.storage import read_json

SOURCES = (
    "config.json",
    "status.json",
    "metrics.jsonl",
    "results.json",
    "alerts.jsonl",
    LABELS_NAME,
)
"""The files that a record is made of, beside the status of a process that lives."""
TEST_KEY = "test/best/ep_rew_mean"
_STARTED = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-")
_NO_SETTINGS = frozenset({"config_id", "description", "schema_version", "spec"})
_MAX_METRICS = 400


@dataclass(frozen=True, slots=True)
class Record:
    """One run of a list."""

    run: Run
    columns: Mapping[str, Any]
    """What people look for by name: id, config, env, variant, algo, seed, status, group, tags,
    note, started, timesteps, budget, seconds, best, test, last, alerts, reason."""
    settings: Mapping[str, Any]
    """Every setting of the config by its dotted key, as JSON values."""
    metrics: Mapping[str, Any]
    """The summary of the run, and the last value of every metric."""
    solved_at: float | None
    """Mean return at which the task counts as solved, if the config tells."""

    def value(self, key: str) -> Any:
        """Return a column, a setting or a metric; None where the run has none of that name."""
        for values in (self.columns, self.settings, self.metrics):
            if key in values:
                return values[key]
        return None

    def has(self, key: str) -> bool:
        """Say whether the run has a column, a setting or a metric of that name."""
        return key in self.columns or key in self.settings or key in self.metrics


def is_ours(run: Run) -> bool:
    """Say whether a folder with a `config.json`, which other programs write too, is a run."""
    config = read_json(run.config_path)
    return isinstance(config, Mapping) and all(
        isinstance(config.get(key), str) for key in ("config_id", "env_id", "algo_id")
    )


def read_stored(run: Run) -> dict[str, Any]:
    """Return what the files of a run tell, as JSON values; a damaged file tells nothing."""
    config = _read_config(run)
    labels = read_labels(run.path)
    metrics = _metrics(run)
    config_id = str(config.get("config_id", "?"))
    spec = _mapping(config.get("spec"))
    columns = {
        "id": run.path.name,
        "config": config_id,
        "env": config.get("env_id", "?"),
        "variant": config_id.rpartition(":")[2],
        "algo": config.get("algo_id", "?"),
        "seed": config.get("seed"),
        "group": labels.group,
        "tags": list(labels.tags),
        "note": labels.note,
        "started": _started(run.path.name),
        "timesteps": metrics.get("train/total/timesteps") or run.saved_timesteps() or 0,
        "budget": config.get("max_timesteps"),
        "seconds": metrics.get("train/total/seconds"),
        "best": metrics.get("val/best/ep_rew_mean"),
        "test": metrics.get(TEST_KEY),
        "last": metrics.get("test/last/ep_rew_mean"),
        "alerts": metrics.get("train/total/alerts", 0),
    }
    return {
        "columns": columns,
        "settings": settings_of(config),
        "metrics": metrics,
        "status": dict(read_json(run.status_path) or {}),
        "solved_at": spec.get("solved_threshold"),
    }


def as_record(run: Run, stored: Mapping[str, Any]) -> Record:
    """Make a record of what was stored; whether a process still lives is asked now."""
    status = interpret(stored["status"], run.path)
    now = {"status": status["status"], "reason": status.get("reason", "")}
    return Record(
        run=run,
        columns={**stored["columns"], **now},
        settings=stored["settings"],
        metrics=stored["metrics"],
        solved_at=stored["solved_at"],
    )


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a saved config by dotted keys, without what only names them."""
    return flatten({key: value for key, value in config.items() if key not in _NO_SETTINGS})


def flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings by dotted keys; schedules, which are mappings too, stay whole."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value and "start" not in value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def show_value(value: Any) -> str:
    """Write a value as filters read it: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return json.dumps(value, separators=(",", ":"))


def _read_config(run: Run) -> dict[str, Any]:
    """Return the config in the present form; as it is where it is of no program of ours."""
    config = dict(read_json(run.config_path) or {})
    try:
        return migrate(config, source=run.path.name)
    except ConfigError:
        return config


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _metrics(run: Run) -> dict[str, Any]:
    # With their packages these load NumPy, which `--help` has no need of.
    from utils.loggers.jsonl import read_jsonl
    from utils.reports.summary import summarize_run

    try:
        summary: dict[str, Any] = dict(summarize_run(run))
        rows = read_jsonl(run.metrics_jsonl)
    except (StorageError, OSError):
        return {}
    last: dict[str, Any] = {}
    for row in rows[-_MAX_METRICS:]:
        last |= row
    numbers = {key: value for key, value in last.items() if isinstance(value, int | float)}
    return {**numbers, **summary}


def _started(name: str) -> str:
    match = _STARTED.match(name)
    if match is None:
        return ""
    year, month, day, hour, minute, second = match.groups()
    return f"{year}-{month}-{day} {hour}:{minute}:{second}"


def stamp(folder: Path) -> str:
    """Return what changes when a file that the record is made of changes."""
    parts = []
    for name in SOURCES:
        try:
            stat = (folder / name).stat()
        except OSError:
            parts.append("-")
            continue
        parts.append(f"{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}")
    return " ".join(parts)
