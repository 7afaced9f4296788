"""A compiler that a person can stop, and that compiles the same thing in one process only."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
from numba.core import event

from gym_envs import numba_settings  # noqa: F401  (it chooses the folder of compiled code)
from gym_envs.compile_notice import say_compiling
from utils.storage import take_lock

_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 2.0
"""How long a process waits before it says so: loading what is compiled takes less."""


class _StopBetweenPasses(event.Listener):
    """Raises in the compiler's own Python, where nothing swallows it."""

    is_wanted = False

    def on_start(self, started: event.Event) -> None:
        """Stop before a pass of the compiler, if it is wanted."""
        del started
        if self.is_wanted:
            raise KeyboardInterrupt

    def on_end(self, ended: event.Event) -> None:
        """Needed by the listener's interface."""


@contextlib.contextmanager
def stoppable_compiler() -> Iterator[None]:
    """Let SIGINT stop the compiler between two of its passes.

    In the middle of one the exception may hit a callback of LLVM, which prints and drops it.
    Processes that start side by side take turns: the first compiles, the others load the result.

    Raises:
        KeyboardInterrupt: SIGINT came.
    """
    if threading.current_thread() is not threading.main_thread():  # it gets no signals
        with _turn(lambda: None):
            yield
        return
    listener = _StopBetweenPasses()

    def stop(number: int, frame: object) -> None:
        del number, frame
        listener.is_wanted = True
        print("\nSIGINT: stopping as soon as the compiler lets go", file=sys.stderr, flush=True)

    def check() -> None:
        if listener.is_wanted:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        with _turn(check), event.install_listener("numba:run_pass", listener):
            yield
        check()
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _turn(check: Callable[[], None]) -> Iterator[None]:
    """Wait until no other process compiles; the system ends the turn of one that dies.

    Args:
        check: Called while it waits; may raise.
    """
    try:
        lock = os.open(Path(numba.config.CACHE_DIR, ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:  # somebody has removed the folder: each compiles for itself
        yield
        return
    try:
        began, has_told = time.monotonic(), False
        while not _is_free(lock):
            check()
            if not has_told and time.monotonic() - began > _PATIENCE_SECONDS:
                has_told = True
                say_compiling("is what another process does; waiting for its result")
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(lock)


def _is_free(lock: int) -> bool:
    """Take the lock, if nobody has it; on a disk without locks each compiles for itself."""
    try:
        take_lock(lock, waits=False)
    except BlockingIOError:
        return False
    return True
