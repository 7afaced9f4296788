"""One trainer per run folder, whatever host or container it runs in."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from utils.errors import ConfigError
from utils.storage import storage_errors

LOCK_NAME = ".lock"


class RunLock:
    """Held by the process that trains in a run folder; the system lets go of it with the process.

    The file stays where it is; only the lock on it means something.
    """

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Args:
            folder: The run's folder.

        Raises:
            ConfigError: Another process holds it.
            StorageError: The folder cannot be written.
        """
        with storage_errors(folder):
            self._file = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise ConfigError(
                f"run '{folder.name}' is being trained by another process: "
                "stop it before resuming it"
            ) from None

    def release(self) -> None:
        """Let go."""
        os.close(self._file)

    def __enter__(self) -> Self:
        """Return the held lock."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go."""
        self.release()
