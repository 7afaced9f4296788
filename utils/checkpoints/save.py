"""Write a checkpoint so that a kill at any byte leaves the last good one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.checkpoints.plain_state import to_plain
from utils.errors import StorageError
from utils.storage import atomic_file


def save_checkpoint(path: Path | str, state: Mapping[str, Any]) -> None:
    """Save `state` as one file that torch loads in its safe mode.

    Args:
        path: The file to write or replace. Its folder must exist.
        state: Plain containers, tensors, NumPy arrays and numbers; see `to_plain`.

    Raises:
        StorageError: The disk is full or read-only. An older file at `path` is as it was.
        AssertionError: The state holds something that the safe mode would refuse.
    """
    import torch

    path = Path(path)
    plain = to_plain(state)
    with atomic_file(path) as file:
        try:
            torch.save(plain, file)
        except RuntimeError as error:
            # The zip writer hides the cause of a failed write in a RuntimeError.
            raise StorageError(f"cannot write '{path}': {_cause(error)}") from error


def _cause(error: BaseException) -> str:
    while error.__context__ is not None:
        error = error.__context__
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
