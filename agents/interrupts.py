"""Ctrl-C and SIGTERM: finish the epoch, save, and say how to go on."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

from utils.errors import RunFailedError

GRACE_SECONDS = 20
"""How long the running epoch may take to end after the first signal."""


class RunInterruptedError(RunFailedError):
    """The process was told to leave at once; what is not saved yet is lost."""

    def __init__(self, signal_number: int, *, where: str, way_back: str = "") -> None:
        name = signal.Signals(signal_number).name
        super().__init__(f"stopped by {name} {where}" + (f"; {way_back}" if way_back else ""))
        self.signal_number = signal_number
        self.where = where
        self.exit_code = 128 + signal_number


class StopSignals:
    """Turn the first SIGINT or SIGTERM into a request to stop, a second one into an exception.

    A state can be saved without loss only between epochs, so the first signal lets the running
    epoch end; one that takes longer than the grace period is left as if by a second signal.
    """

    def __init__(
        self,
        request_stop: Callable[[str], None],
        *,
        tell: Callable[[str], None],
        has_saved: Callable[[], bool] = lambda: True,
    ) -> None:
        """Remember whom to ask and whom to tell.

        Args:
            request_stop: Called with the reason, from the main thread.
            tell: Called with one line for the person at the terminal, from the main thread,
                between any two steps of what it is doing.
            has_saved: Whether there is a checkpoint that a run could go on from.
        """
        self._has_saved = has_saved
        self._request_stop = request_stop
        self._tell = tell
        self._previous: dict[int, Any] = {}
        self._is_over = False
        self.received: int | None = None

    def training_is_over(self) -> None:
        """Everything is saved: from here on a first signal only asks to come to an end."""
        signal.alarm(0)
        self._is_over = True

    def install(self) -> None:
        """Take over the signals; again when training starts, after Lightning took SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            previous = signal.signal(number, self._handle)
            self._previous.setdefault(number, previous)

    def restore(self) -> None:
        """Give the signals back."""
        signal.alarm(0)
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.received is not None:
            where = "after training" if self._is_over else "in the middle of an epoch"
            raise RunInterruptedError(self.received, where=where)
        self.received = number
        name = signal.Signals(number).name
        if self._is_over:
            self._tell(
                f"{name}: training is over and saved; what is left (final test, film, report) is "
                "still done, once more leaves at once"
            )
            return
        all_of_it = "" if self._has_saved() else ", which is all so far: nothing is saved yet"
        self._tell(
            f"{name}: stopping after this epoch (at most {GRACE_SECONDS} s); "
            f"once more stops at once and loses the epoch{all_of_it}"
        )
        self._request_stop(f"interrupted by {name}")
        signal.alarm(GRACE_SECONDS)
