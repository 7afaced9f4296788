"""Reads the `.wandb` files in which W&B's client keeps what a run has logged."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from utils.loggers.log_writer import EPOCH_KEY

_BLOCK = 32768
_FIRST_BLOCK_START = 7  # after ":W&B" and a version
_HEADER = struct.Struct("<IHB")
_WHOLE, _LAST = 1, 4


def run_folders(run_dir: Path, pattern: str = "*run-*") -> list[Path]:
    """Return the folders that W&B has made in a run's folder, one for each process, oldest first.

    Args:
        run_dir: The run's folder.
        pattern: `offline-run-*` or `run-*` for those of one kind.
    """
    found = (path for path in run_dir.glob(f"wandb/{pattern}") if path.is_dir())
    return sorted(found, key=lambda path: path.name.removeprefix("offline-"))


def last_epoch(run_dir: Path) -> int:
    """Return the last epoch whose row is in a file of a run's folder; 0 without one.

    A process that was killed leaves fewer rows in its file than it has logged.
    """
    epochs = (
        json.loads(item.value_json)
        for folder in run_folders(run_dir)
        for path in folder.glob("*.wandb")
        for record in read_records(path)
        if record.WhichOneof("record_type") == "history"
        for item in record.history.item
        if EPOCH_KEY in (item.key, *item.nested_key)
    )
    return int(max(epochs, default=0))


def read_records(path: Path) -> Iterator[Any]:
    """Yield the records of a file (`wandb.proto.wandb_internal_pb2.Record`); a cut one ends it."""
    from wandb.proto.wandb_internal_pb2 import Record

    for frame in _frames(path.read_bytes()):
        yield Record.FromString(frame)


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
