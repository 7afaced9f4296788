"""The file of an Optuna study: several processes append to it, and a kill leaves it whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from utils.errors import StorageError
from utils.storage import storage_errors, take_lock


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a file's lock, which the system takes back from a process that dies.

    Raises:
        StorageError: The file cannot be made.
    """
    with storage_errors(path), path.open("a") as file:
        _lock(file, path)
        yield


def _lock(file: IO[str], path: Path) -> None:
    """Wait for a file's lock and take it.

    Raises:
        StorageError: The disk has none; without, two processes would spoil each other's lines.
    """
    if not take_lock(file.fileno(), waits=True):
        raise StorageError(
            f"'{path.parent}' is on a disk without file locks, by which the processes of a sweep "
            "share its journal: give --out a folder on another disk"
        )


class SystemLock:
    """The lock of a journal, as Optuna asks for one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def acquire(self) -> bool:
        """Wait for the lock and take it."""
        self._file = self._path.open("a")
        _lock(self._file, self._path)
        return True

    def release(self) -> None:
        """Give it back."""
        assert self._file is not None
        self._file.close()
        self._file = None


def open_journal(path: Path) -> Any:
    """Open the storage of a study, and cut off a line that a kill has left half written."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    lock = SystemLock(path.with_name(f"{path.name}.lock"))
    lock.acquire()
    try:
        _cut_torn_line(path)
    finally:
        lock.release()
    return JournalStorage(JournalFileBackend(str(path), lock_obj=lock))  # type: ignore[arg-type]


def _cut_torn_line(path: Path) -> None:
    if not path.exists():
        return
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    if end < len(content):
        os.truncate(path, end)
