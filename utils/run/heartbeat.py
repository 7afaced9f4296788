"""Signs of life of the process that trains a run, for readers on other machines."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

LOCK_NAME = ".lock"
BEAT_SECONDS = 20.0
GONE_SECONDS = 300.0
"""Without a sign of life for so long, a process of another machine counts as gone."""
_PATIENCE_SECONDS = 4.5 * BEAT_SECONDS
_POLL_SECONDS = 0.5
_SIGNS = (LOCK_NAME, "status.json", "metrics.jsonl")


class Heartbeat:
    """Touches the lock file of a run every few seconds, as long as it is entered.

    A thread does it: an epoch, an evaluation or a film may take longer than a reader's patience.
    """

    def __init__(self, folder: Path) -> None:
        """Take the run's folder."""
        self._file = folder / LOCK_NAME
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End, and leave no file where the run has been removed."""
        self._is_over.set()
        self._thread.join()

    def _beat(self) -> None:
        while True:
            with contextlib.suppress(OSError):  # what writes the run itself says what is wrong
                self._file.touch()
            if self._is_over.wait(BEAT_SECONDS):
                return


def seconds_silent(folder: Path) -> float:
    """Return how long ago the process that trains a run has last given a sign.

    It is measured by the clock of the file system, which all machines share.

    Args:
        folder: The run's.

    Returns:
        Infinity where there never was a sign.
    """
    last = _last_sign(folder)
    silent = time.time() - last
    # The clocks of two machines may differ: a file of now settles what looks old.
    return silent if silent < GONE_SECONDS else max(0.0, _now_on_disk(folder) - last)


def wait_for_sign(folder: Path) -> bool:
    """Wait for a new sign of life of the process that trains a run.

    Args:
        folder: The run's.

    Returns:
        True at the first one; False once the last is so old that there would have been others.
    """
    last = _last_sign(folder)
    while _now_on_disk(folder) - last < _PATIENCE_SECONDS:
        time.sleep(_POLL_SECONDS)
        if _last_sign(folder) > last:
            return True
    return False


def _last_sign(folder: Path) -> float:
    times = []
    for name in _SIGNS:
        # Opened, for a network disk answers from memory about files that are closed.
        with contextlib.suppress(OSError), (folder / name).open("rb") as file:
            times.append(os.fstat(file.fileno()).st_mtime)
    return max(times, default=float("-inf"))


def _now_on_disk(folder: Path) -> float:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"now")
            file.flush()
            return os.fstat(file.fileno()).st_mtime
    except OSError:  # it can only be read
        return time.time()
