"""Reads what W&B's client has written to the disk."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_BLOCK = 32768
_FIRST_BLOCK_START = 7  # after ":W&B" and a version
_HEADER = struct.Struct("<IHB")
_WHOLE, _LAST = 1, 4


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
    paths = run_dir.glob("wandb/*run-*/*.wandb")
    return [read_wandb_file(path) for path in sorted(paths)]


def read_wandb_file(path: Path) -> WandbFile:
    """Read one file; a last record that a kill has cut short is left out."""
    from wandb.proto.wandb_internal_pb2 import Record

    content = WandbFile()
    for frame in _frames(path.read_bytes()):
        record = Record.FromString(frame)
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


def _frames(content: bytes) -> Iterator[bytes]:
    """Yield the records of a LevelDB log: blocks of frames, a record in one frame or several."""
    position, parts = _FIRST_BLOCK_START, b""
    while position + _HEADER.size <= len(content):
        left = _BLOCK - position % _BLOCK
        if left < _HEADER.size:
            position += left
            continue
        _, length, kind = _HEADER.unpack_from(content, position)
        position += _HEADER.size
        if position + length > len(content):
            return
        parts += content[position : position + length]
        position += length
        if kind in (_WHOLE, _LAST):
            yield parts
            parts = b""
