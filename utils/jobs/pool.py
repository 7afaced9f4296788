"""Jobs side by side, up to a limit, and an end in which all of them can save."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import NoReturn

from utils.jobs.process import Job

_POLL_SECONDS = 0.1
STOP_SECONDS = 60.0
"""How long jobs may take to save themselves after SIGTERM."""


class JobPool:
    """Runs jobs in their order, several at a time."""

    def __init__(self, jobs: Sequence[Job], *, n_parallel: int) -> None:
        """Take the jobs; nothing runs yet.

        Args:
            jobs: None of them has been started.
            n_parallel: Processes at a time, >= 1.
        """
        assert n_parallel >= 1, n_parallel
        self._waiting = list(jobs)
        self._jobs = list(jobs)
        self._n_parallel = n_parallel

    def run(self, *, look: Callable[[], None], on_stop: Callable[[], None]) -> None:
        """Run all jobs to their ends, or none of them further.

        Args:
            look: Called many times a second, and once more when all have ended.
            on_stop: Called when an interrupt has come, before jobs are given time to save.

        Raises:
            KeyboardInterrupt: Ctrl-C or SIGTERM; no process is left. A second one does not wait.
        """
        with sigterm_as_interrupt():
            try:
                while self._fill() or any(job.is_running() for job in self._jobs):
                    look()
                    time.sleep(_POLL_SECONDS)
                look()
            except KeyboardInterrupt:
                on_stop()
                self._let_save(look)
                raise
            finally:
                self._kill()

    def _fill(self) -> bool:
        n_free = self._n_parallel - sum(job.is_running() for job in self._jobs)
        for _ in range(min(n_free, len(self._waiting))):
            self._waiting.pop(0).start()
        return bool(self._waiting)

    def _let_save(self, look: Callable[[], None]) -> None:
        for job in self._jobs:
            job.stop(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while any(job.is_running() for job in self._jobs) and time.monotonic() < deadline:
            look()
            time.sleep(_POLL_SECONDS)

    def _kill(self) -> None:
        for job in self._jobs:
            job.stop(signal.SIGKILL)
            if job.process is not None:
                job.process.wait()


@contextlib.contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
