"""What the terminal can do, and a block of lines that is redrawn in place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TextIO

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "bold_red": "1;31",
    "bold_green": "1;32",
    "bold_cyan": "1;36",
}
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def is_terminal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether lines on `stream` can be redrawn."""
    return stream.isatty() and environ.get("TERM", "") not in ("", "dumb")


def is_ascii_only(stream: TextIO) -> bool:
    """Say whether `stream` cannot show block characters."""
    try:
        "▁█━…★".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return True
    return False


def visible_length(text: str) -> int:
    """Return how many columns `text` takes; colours take none."""
    return len(strip_colours(text))


def strip_colours(text: str) -> str:
    """Return `text` without colours."""
    return _ESCAPE.sub("", text)


class Palette:
    """Put colours around text, or leave it plain."""

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on

    def paint(self, text: str, style: str | None) -> str:
        """Return `text` in a style of this module; as it is when colours are off."""
        if not self._is_on or style is None:
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


class LiveBlock:
    """Lines at the bottom of a terminal that are drawn over at each refresh."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._height = 0
        self._size: tuple[int, int] | None = None
        self._is_left = False

    def begin_anew(self) -> None:
        """Leave the block where it is: others have written below it. The next one begins there."""
        self._is_left = True

    def size(self) -> tuple[int, int]:
        """Return columns and rows of the terminal; 80 by 24 when it does not tell."""
        try:
            columns, rows = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return 80, 24
        return (columns or 80), (rows or 24)

    def draw(self, lines: Sequence[str], *, above: str = "") -> None:
        """Replace the block.

        Args:
            lines: The new lines. None may be wider, all together no higher than the terminal.
            above: Text that stays in the scroll-back, above the block.
        """
        size = self.size()
        is_left, self._is_left = self._is_left, False
        if is_left:
            start = "\r"
        elif self._size not in (None, size):
            # The terminal wrapped the old lines anew; where they lie now is not known.
            start = "\x1b[2J\x1b[H"
        else:
            start = f"\x1b[{self._height}A\r" if self._height else "\r"
        kept = "".join(f"{line}\x1b[K\n" for line in above.splitlines())
        body = "".join(f"{line}\x1b[K\n" for line in lines)
        self._stream.write(f"{start}{kept}{body}\x1b[J")
        self._stream.flush()
        self._height, self._size = len(lines), size
