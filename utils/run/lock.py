"""One trainer per run folder, whatever host or container it runs in."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Self

from utils.errors import ConfigError
from utils.run.heartbeat import LOCK_NAME
from utils.run.status import interpret, is_elsewhere
from utils.storage import read_json, storage_errors, take_lock

_told: set[Path] = set()
"""Folders of runs of which was said that their disk has no locks."""


class RunLock:
    """Held by the process that trains in a run folder; the system lets go of it with the process.

    The file stays where it is; only the lock on it means something. Where the disk has no locks,
    the status of the run has to tell whether somebody trains it.
    """

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Args:
            folder: The run's folder.

        Raises:
            ConfigError: Another process holds it, or seems to where there are no locks.
            StorageError: The folder cannot be written.
        """
        with storage_errors(folder):
            self._file = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            with storage_errors(folder / LOCK_NAME):
                self._take(folder)
        except BaseException:
            os.close(self._file)
            raise

    def _take(self, folder: Path) -> None:
        try:
            has_locks = take_lock(self._file, waits=False)
        except BlockingIOError:
            raise _taken(folder, by="another process") from None
        if not has_locks:
            _do_without(folder)

    def release(self) -> None:
        """Let go."""
        os.close(self._file)

    def __enter__(self) -> Self:
        """Return the held lock."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go."""
        self.release()


def _taken(folder: Path, *, by: str) -> ConfigError:
    return ConfigError(f"run '{folder.name}' is being trained by {by}: stop it before resuming it")


def _do_without(folder: Path) -> None:
    """Look at the status of a run on a disk without locks, and say once what that cannot tell.

    Raises:
        ConfigError: It says that another process trains the run.
    """
    status = interpret(read_json(folder / "status.json"), folder)
    is_own = status.get("pid") == os.getpid() and not is_elsewhere(status)
    if status["status"] == "running" and not is_own:
        raise _taken(folder, by=f"process {status.get('pid')} on {status.get('host')}")
    if folder.parent not in _told:
        _told.add(folder.parent)
        print(
            f"note: '{folder.parent}' is on a disk without file locks: see to it that no two "
            "processes begin to train one run in the same moment",
            file=sys.stderr,
        )
