"""Reads what other processes append to a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

_CHUNK_BYTES = 1 << 22


def parse_records(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Return the JSON objects of lines; a line that is none, or is damaged, is passed over."""
    records = []
    for line in lines:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


class TailFile:
    """Read a growing file of lines from where the last look ended; the writer does not notice.

    A look that finds nothing costs one `stat`. A last line without its newline is left until it
    is whole. A file that was replaced, or became shorter, is read again from its beginning.
    """

    def __init__(self, path: Path) -> None:
        """Begin at the first line; the file need not exist yet."""
        self.path = path
        self.n_begun = 0
        """How often reading began at the first line: when it grows, what was read is void."""
        self._inode: int | None = None
        self._offset = 0

    def read(self, *, max_bytes: int = _CHUNK_BYTES) -> list[bytes]:
        """Return the next whole lines, without their newlines.

        Args:
            max_bytes: About as many are read at most; a longer line is read whole.

        Returns:
            Empty when there is nothing new, or no file.
        """
        try:
            stat = os.stat(self.path)
        except OSError:
            return []
        if stat.st_ino != self._inode or stat.st_size < self._offset:
            self._inode, self._offset = stat.st_ino, 0
            self.n_begun += 1
        if stat.st_size == self._offset:
            return []
        return self._read_lines(max_bytes)

    def _read_lines(self, max_bytes: int) -> list[bytes]:
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_ino != self._inode:
                    return []  # replaced since the look; the next one sees it
                file.seek(self._offset)
                content = file.read(max_bytes)
                if len(content) == max_bytes:
                    content += file.readline()
        except OSError:
            return []
        whole, newline, _ = content.rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        return whole.split(b"\n") if newline else []
