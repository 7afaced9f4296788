"""Signs of life of the processes that work on one study, for those of other machines."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

from utils.run.heartbeat import GONE_SECONDS
from utils.run.status import process_start
from utils.storage import storage_errors

_BEAT_SECONDS = 10.0


class Presence:
    """One process among those on a study: it says that it lives, and whether others do."""

    def __init__(self, folder: Path) -> None:
        """Take the folder of the signs, which all processes see; it is made with the first one."""
        self._folder = folder
        pid = os.getpid()
        self.process: list[Any] = [platform.node(), pid, process_start(pid)]
        self._beaten_at = -_BEAT_SECONDS

    def beat(self) -> None:
        """Give a sign of life, every few seconds at most.

        Raises:
            StorageError: The folder cannot be written.
        """
        if time.monotonic() - self._beaten_at < _BEAT_SECONDS:
            return
        with storage_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._sign(self.process).touch()
        self._beaten_at = time.monotonic()

    def is_alive(self, process: Any) -> bool:
        """Say whether a process, as `process` names it, still works.

        One of this machine is looked up; one of another machine must have given a sign lately, by
        the clock of the file system, which both share.
        """
        if process is None:
            return False
        host, pid, started = process
        if host == platform.node():
            return process_start(pid) == started
        self._beaten_at = -_BEAT_SECONDS
        self.beat()
        now = self._sign(self.process).stat().st_mtime
        sign = self._sign(process)
        return sign.exists() and now - sign.stat().st_mtime < GONE_SECONDS

    def _sign(self, process: list[Any]) -> Path:
        return self._folder / f"{process[0]}-{process[1]}"
