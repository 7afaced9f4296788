"""Metrics as a CSV file: one row per epoch, one column per metric."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from utils.loggers.log_writer import EPOCH_KEY, TIMESTEPS_KEY
from utils.storage import AppendFile

_FIRST_COLUMNS = ("epoch", "timesteps")
_LEFT_OUT = frozenset({EPOCH_KEY, TIMESTEPS_KEY})


class CsvWriter:
    """Append rows to a CSV file that starts with the columns `epoch` and `timesteps`.

    The counters under their metric keys are left out, the two first columns hold them. A metric
    that appears later adds a column, and earlier rows are kept with an empty cell. Numbers are
    written so that reading them back gives the same float.
    """

    def __init__(self, path: Path) -> None:
        """Continue the file at `path`, or start it with the first row."""
        self._file = AppendFile(path)
        header = self._file.read_lines()[:1]
        self._columns = header[0].decode().split(",") if header else []
        self._known = _LEFT_OUT.union(self._columns)

    def write(self, row: Mapping[str, float], *, epoch: int, timesteps: int) -> None:
        """Append one row; see `LogWriter`.

        Raises:
            StorageError: The disk is full; the file ends with the row before this one.
        """
        if not (self._columns and row.keys() <= self._known):
            self._add_columns([key for key in row if key not in self._known])
        cells = [str(epoch), str(timesteps)]
        get = row.get
        for key in self._columns[2:]:
            value = get(key)
            cells.append("" if value is None else repr(value))
        self._file.append((",".join(cells) + "\n").encode())

    def truncate_after(self, epoch: int) -> None:
        """Remove rows of later epochs, and columns that are empty without them.

        Raises:
            StorageError: A line is damaged; the file is as it was.
        """
        lines = self._file.read_lines()
        rows = [self._parse(line, number) for number, line in enumerate(lines[1:], start=2)]
        kept = [cells for cells in rows if int(cells[0]) <= epoch]
        if len(kept) == len(rows):
            return
        filled = [
            i
            for i in range(len(self._columns))
            if i < len(_FIRST_COLUMNS) or any(cells[i] for cells in kept)
        ]
        self._columns = [self._columns[i] for i in filled]
        self._known = _LEFT_OUT.union(self._columns)
        shortened = [b",".join([cells[i] for i in filled]) for cells in kept]
        self._file.replace([",".join(self._columns).encode(), *shortened])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _parse(self, line: bytes, number: int) -> list[bytes]:
        """Return the cells of a line, of which the first is an epoch."""
        cells = line.split(b",")
        if len(cells) != len(self._columns) or not cells[0].isdigit():
            raise self._file.damaged(number)
        return cells

    def _add_columns(self, new: list[str]) -> None:
        assert not any("," in key or "\n" in key for key in new), new
        rows = self._file.read_lines()[1:]
        if not self._columns:
            new = [*_FIRST_COLUMNS, *new]
        columns = [*self._columns, *new]
        padding = b"," * len(new)
        self._file.replace([",".join(columns).encode(), *(line + padding for line in rows)])
        self._columns = columns
        self._known = _LEFT_OUT.union(columns)
