"""A compiler that a person can stop."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

from numba.core import event


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

    Raises:
        KeyboardInterrupt: SIGINT came.
    """
    if threading.current_thread() is not threading.main_thread():  # it gets no signals
        yield
        return
    listener = _StopBetweenPasses()

    def stop(number: int, frame: object) -> None:
        del number, frame
        listener.is_wanted = True
        print("\nSIGINT: stopping as soon as the compiler lets go", file=sys.stderr, flush=True)

    before = signal.signal(signal.SIGINT, stop)
    try:
        with event.install_listener("numba:run_pass", listener):
            yield
        if listener.is_wanted:
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, before)
