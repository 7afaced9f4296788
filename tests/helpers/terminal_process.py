"""A command in a terminal of its own: what it shows, and keys pressed into it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable
from typing import Any

from tests.helpers.commands import Command

ENVIRONMENT = {
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "DISPLAY": "",
    "WAYLAND_DISPLAY": "",
}


class TerminalProcess:
    """Runs a command in a pseudo-terminal; a context manager that leaves nothing running."""

    def __init__(self, *argv: str, columns: int = 100, rows: int = 30) -> None:
        """Start an entry script, by name, with arguments."""
        self._ours, self._theirs = pty.openpty()
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, size)
        self.settings_before = self.settings()
        self.output = ""
        self._code: int | None = None
        self._command = Command(*argv, environment=ENVIRONMENT, terminal=os.ttyname(self._theirs))
        self.pid = self._command.pid

    def press(self, text: str) -> None:
        """Send what the keys would."""
        os.write(self._ours, text.encode())

    def wait_for(self, text: str, *, seconds: float = 60.0) -> None:
        """Read until `text` is shown from now on."""
        start = len(self.output)
        self._read_until(lambda: text in self.output[start:], seconds, f"no {text!r}")

    def wait(self, *, seconds: float = 60.0) -> int:
        """Read until the command has ended; return its exit code."""
        self._read_until(self._has_ended, seconds, "no end")
        self._read()
        assert self._code is not None
        return self._code

    def settings(self) -> list[Any]:
        """Return the settings of the terminal as they are now."""
        return termios.tcgetattr(self._theirs)

    def _has_ended(self) -> bool:
        if self._code is None:
            self._code = self._command.poll()
        return self._code is not None

    def _read_until(self, is_done: Callable[[], bool], seconds: float, fault: str) -> None:
        deadline = time.monotonic() + seconds
        while not is_done():
            assert time.monotonic() < deadline, f"{fault} in {self.output[-2000:]!r}"
            self._read()

    def _read(self) -> None:
        while select.select([self._ours], [], [], 0.02)[0]:
            self.output += os.read(self._ours, 65536).decode(errors="replace")

    def __enter__(self) -> TerminalProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._has_ended():
            os.killpg(self.pid, signal.SIGKILL)
            while not self._has_ended():
                time.sleep(0.01)
        os.close(self._ours)
        os.close(self._theirs)
