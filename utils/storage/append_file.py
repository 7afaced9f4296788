"""A file that grows by whole lines."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from utils.errors import StorageError
from utils.storage.atomic import storage_errors, write_bytes


class AppendFile:
    """Append whole lines to a file, each with one system call.

    A line that was appended survives the death of the process. The file is opened at the first
    line, so that a run without lines leaves no file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def append(self, line: bytes) -> None:
        """Append one line.

        Args:
            line: The bytes, with their newline at the end.

        Raises:
            StorageError: The disk is full; the file ends with the line before this one.
        """
        assert line.endswith(b"\n"), line[-20:]
        with storage_errors(self.path):
            descriptor = self._open()
            written = os.write(descriptor, line)
        if written < len(line):
            size = os.fstat(descriptor).st_size
            os.ftruncate(descriptor, size - written)
            raise StorageError(f"cannot write '{self.path}': the disk is full")

    def read_lines(self) -> list[bytes]:
        """Return the whole lines, without their newlines; a tail that was cut short is left out."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")
        return lines[:-1]

    def damaged(self, number: int) -> StorageError:
        """Build the error for a line, counted from 1, that does not hold what was written."""
        return StorageError(
            f"'{self.path}', line {number}, is damaged and cannot be read: remove that line"
        )

    def replace(self, lines: list[bytes]) -> None:
        """Replace the content at once.

        Args:
            lines: The new lines, without their newlines.

        Raises:
            StorageError: The file cannot be written; it is as it was.
        """
        self.close()
        write_bytes(self.path, b"".join(line + b"\n" for line in lines))

    def close(self) -> None:
        """Close the file; the next `append` opens it again."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._descriptor = os.open(self.path, flags, 0o644)
            self._drop_cut_tail(self._descriptor)
        return self._descriptor

    def _drop_cut_tail(self, descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
            return
        whole = self.path.read_bytes().rfind(b"\n") + 1
        os.ftruncate(descriptor, whole)
