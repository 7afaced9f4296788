"""Going on from an earlier checkpoint: what came after it belongs to the run no longer."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.checkpoints.pointers import point, resolve
from utils.errors import CheckpointError
from utils.storage import read_json, storage_errors

_NAME = re.compile(r"epoch=\d+\.ckpt")
"""Of checkpoints that the run itself has written."""


def rewind(folder: Path, to: Path, *, epoch: int) -> int:
    """Let `best` and `last` be what they were at a checkpoint, and remove all later ones.

    `best` becomes the best checkpoint up to then; where that has been removed, the one that is
    gone on from. A kill in between leaves names of whole checkpoints, and `last` is never older
    than the rows of metrics that a caller cuts afterwards.

    Args:
        folder: The checkpoints of a run.
        to: One of them.
        epoch: Epochs completed in it.

    Returns:
        How many checkpoints were removed.

    Raises:
        StorageError: The folder cannot be written.
    """
    later = [path for path in _checkpoints(folder) if _epoch(path) > epoch]
    if _resolved(folder, "best") in later:
        earlier = [path for path in _checkpoints(folder) if path not in later]
        point(folder, "best", _best_of(earlier, to))
    if _resolved(folder, "last") != to:
        point(folder, "last", to)
    for path in later:
        with storage_errors(path):
            for part in folder.glob(f"{path.stem}.*"):
                part.unlink(missing_ok=True)
    return len(later)


def read_description(path: Path) -> Mapping[str, Any]:
    """Return what stands beside a checkpoint; nothing where its file is missing or broken."""
    return read_json(path.with_suffix(".json")) or {}


def _best_of(earlier: list[Path], to: Path) -> Path:
    """Return the checkpoint that was the best when `to` was written, or `to` itself."""
    score = read_description(to).get("best_score")
    for path in earlier:
        told = read_description(path)
        if told.get("is_best_so_far") and told["best_score"] == score:
            return path
    return to


def _checkpoints(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]


def _epoch(path: Path) -> int:
    return int(path.stem.removeprefix("epoch="))


def _resolved(folder: Path, name: str) -> Path | None:
    with contextlib.suppress(CheckpointError):
        return resolve(folder, name)
    return None
