"""Keys from a terminal, one by one and without an echo."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Callable
from typing import Any

try:
    import termios
    import tty
except ImportError:  # another system's terminals: shown to, not read from
    termios = tty = None  # type: ignore[assignment]

_NAMES = {
    "\x1b": "escape",
    "\t": "tab",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    " ": "space",
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1b[C": "right",
    "\x1b[D": "left",
}
_KEY = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
# A terminal sends the bytes of one key together; a lone escape is the key of that name.
_SECONDS_FOR_THE_REST = 0.03
# A terminal tells when a key is pressed, again and again while it is held, never when it is
# released. The first repeat comes late.
_FIRST_HOLD_SECONDS = 0.35
_HOLD_SECONDS = 0.12


def name_keys(text: str) -> list[str]:
    """Return the names of the keys that a terminal sent; what has no name here is left out."""
    names = []
    for token in _KEY.findall(text):
        if token.startswith("\x1bO"):
            token = token.replace("O", "[", 1)
        if token in _NAMES:
            names.append(_NAMES[token])
        elif len(token) == 1 and token.isprintable():
            names.append(token.lower())
    return names


class TerminalKeys:
    """Reads keys from a terminal, which `start` takes over and `stop` gives back as it was."""

    def __init__(self, descriptor: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Name the terminal by its file descriptor; it is not touched yet."""
        self._descriptor = descriptor
        self._clock = clock
        self._before: list[Any] | None = None
        self._held_until: dict[str, float] = {}

    @staticmethod
    def of_standard_input() -> TerminalKeys | None:
        """Return the keys of standard input; None where it is no terminal."""
        if termios is None or sys.stdin is None or not sys.stdin.isatty():
            return None
        return TerminalKeys(sys.stdin.fileno())

    def start(self) -> None:
        """Take the terminal over; Ctrl-C and Ctrl-Z stay what they are."""
        self._before = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor)

    def stop(self) -> None:
        """Give the terminal back; a second call does nothing."""
        before, self._before = self._before, None
        if before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, before)

    def read(self, seconds: float) -> list[str]:
        """Return the keys that were pressed, waiting at most so long for the first."""
        if not self._is_ready(seconds):
            return []
        data = os.read(self._descriptor, 4096)
        while data.endswith(b"\x1b") and self._is_ready(_SECONDS_FOR_THE_REST):
            data += os.read(self._descriptor, 4096)
        names = name_keys(data.decode(errors="ignore"))
        now = self._clock()
        for name in names:
            is_repeat = self._held_until.pop(name, 0.0) > now
            hold = _HOLD_SECONDS if is_repeat else _FIRST_HOLD_SECONDS
            self._held_until[name] = now + hold
        return names

    def held(self) -> tuple[str, ...]:
        """Return the keys that are down as far as a terminal tells, oldest first."""
        now = self._clock()
        return tuple(name for name, until in self._held_until.items() if until > now)

    def _is_ready(self, seconds: float) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])
