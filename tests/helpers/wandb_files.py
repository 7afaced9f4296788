"""Reads what W&B's client has written to the disk."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.loggers.wandb_file import read_records, run_folders


@dataclass
class WandbFile:
    """What a `.wandb` file holds."""

    run: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    step_metrics: dict[str, str] = field(default_factory=dict)
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)
    exit_code: int | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of epochs, without films of their own and W&B's own columns."""
        rows = [row for row in self.history if "train/cnt/epoch" in row]
        return [{k: v for k, v in row.items() if k[0] != "_"} for row in rows]


def read_wandb_files(run_dir: Path) -> list[WandbFile]:
    """Return the files of a run folder, oldest first: one for each process that trained it."""
    paths = [path for folder in run_folders(run_dir) for path in folder.glob("*.wandb")]
    return [read_wandb_file(path) for path in paths]


def read_wandb_file(path: Path) -> WandbFile:
    """Read one file; a last record that a kill has cut short is left out."""
    content = WandbFile()
    for record in read_records(path):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            content.run = {
                "id": record.run.run_id,
                "project": record.run.project,
                "name": record.run.display_name,
                "group": record.run.run_group,
                "tags": list(record.run.tags),
            }
            content.config |= _items(record.run.config.update)
        elif kind == "config":
            content.config |= _items(record.config.update)
        elif kind == "history":
            content.history.append(_items(record.history.item))
        elif kind == "summary":
            content.summary |= _items(record.summary.update)
        elif kind == "metric":
            name = record.metric.name or record.metric.glob_name
            content.step_metrics[name] = record.metric.step_metric
        elif kind == "artifact":
            content.artifacts.append(_artifact(record.artifact))
        elif kind == "alert":
            content.alerts.append(record.alert.title)
        elif kind == "exit":
            content.exit_code = record.exit.exit_code
    content.config.pop("_wandb", None)
    return content


def _items(items: Any) -> dict[str, Any]:
    """Return values by key; a film is one value, though each part of it comes by itself."""
    found: dict[str, Any] = {}
    for item in items:
        value = json.loads(item.value_json)
        if item.key:
            found[item.key] = value
        elif len(item.nested_key) == 1:
            found[item.nested_key[0]] = value
        else:
            first, *rest = item.nested_key
            found.setdefault(first, {})["/".join(rest)] = value
    return found


def _artifact(artifact: Any) -> dict[str, Any]:
    return {
        "name": artifact.name,
        "type": artifact.type,
        "aliases": set(artifact.aliases) - {"latest"},
        "files": {entry.path: Path(entry.local_path) for entry in artifact.manifest.contents},
    }
