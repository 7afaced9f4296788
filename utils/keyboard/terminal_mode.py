"""The mode of a terminal in which keys arrive at once and unseen, and the way back."""

from __future__ import annotations

import os
import termios
import threading
from typing import Any

_LOCAL_FLAGS = 3
_CONTROL_CHARACTERS = 6


class KeyMode:
    """Switch a terminal to single keys and back; a background program never touches it."""

    def __init__(self, descriptor: int) -> None:
        """Take a terminal.

        Args:
            descriptor: Open file of the terminal.
        """
        self.descriptor = descriptor
        # A handler of a signal may interrupt its own thread here.
        self._lock = threading.RLock()
        self._before: list[Any] | None = None

    @property
    def is_entered(self) -> bool:
        """Whether the terminal hands out single keys."""
        return self._before is not None

    def is_in_foreground(self) -> bool:
        """Say whether this program is the one that the terminal listens to."""
        try:
            return os.tcgetpgrp(self.descriptor) == os.getpgrp()
        except OSError:
            return False

    def enter(self) -> None:
        """Switch to single keys, if in the foreground; what was typed before is dropped."""
        with self._lock:
            if self.is_entered or not self.is_in_foreground():
                return
            try:
                before = termios.tcgetattr(self.descriptor)
                mode = [*before[:_CONTROL_CHARACTERS], list(before[_CONTROL_CHARACTERS])]
                mode[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
                mode[_CONTROL_CHARACTERS][termios.VMIN] = 1
                mode[_CONTROL_CHARACTERS][termios.VTIME] = 0
                self._before = before
                termios.tcsetattr(self.descriptor, termios.TCSAFLUSH, mode)
            except termios.error:
                self._before = None

    def leave(self) -> None:
        """Switch back."""
        with self._lock:
            before, self._before = self._before, None
            if before is None or not self.is_in_foreground():
                return
            try:
                termios.tcsetattr(self.descriptor, termios.TCSANOW, before)
            except termios.error:
                return  # the terminal is gone

    def forget(self) -> None:
        """Take note that the terminal belongs to somebody else now."""
        with self._lock:
            self._before = None
