"""Metrics as JSON lines: one object per epoch, whole after a kill at any moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from utils.loggers.log_writer import EPOCH_KEY, TIMESTEPS_KEY
from utils.storage import AppendFile

_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class JsonlWriter:
    """Append one JSON object per row, with `epoch` and `timesteps` first.

    JSON has no NaN: numbers that are not finite are written as the strings `NaN`, `Infinity` and
    `-Infinity`; `read_jsonl` turns them back. The counters under their metric keys are left out.
    """

    def __init__(self, path: Path) -> None:
        """Continue the file at `path`, or start it with the first row."""
        self._file = AppendFile(path)

    def write(self, row: Mapping[str, Any], *, epoch: int, timesteps: int) -> None:
        """Append one row; see `LogWriter`.

        Raises:
            StorageError: The disk is full; the file ends with the row before this one.
        """
        record: dict[str, Any] = {"epoch": epoch, "timesteps": timesteps, **row}
        record.pop(EPOCH_KEY, None)
        record.pop(TIMESTEPS_KEY, None)
        for key, value in record.items():
            if isinstance(value, float) and not math.isfinite(value):
                record[key] = _name_number(value)
        self._file.append(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def truncate_after(self, epoch: int) -> None:
        """Remove rows of later epochs.

        Raises:
            StorageError: A line is damaged; the file is as it was.
        """
        self.remove(lambda row: row["epoch"] > epoch)

    def remove(self, is_unwanted: Callable[[Mapping[str, Any]], bool]) -> None:
        """Remove some of the rows.

        Raises:
            StorageError: A line is damaged; the file is as it was.
        """
        lines = self._file.read_lines()
        rows = _parse(self._file, lines)
        for number, row in enumerate(rows, start=1):
            if not isinstance(row.get("epoch"), int):
                raise self._file.damaged(number)
        kept = [line for line, row in zip(lines, rows, strict=True) if not is_unwanted(row)]
        if len(kept) < len(lines):
            self._file.replace(kept)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file that `JsonlWriter` wrote.

    Returns:
        The rows, with non-finite numbers as floats; empty for a missing file. A last line that
        was cut short is left out.

    Raises:
        StorageError: Another line is damaged; it is named.
    """
    file = AppendFile(path)
    rows = _parse(file, file.read_lines())
    for row in rows:
        for key, value in row.items():
            if isinstance(value, str) and value in _NUMBERS:
                row[key] = _NUMBERS[value]
    return rows


def _parse(file: AppendFile, lines: list[bytes]) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise file.damaged(number) from error
        if not isinstance(row, dict):
            raise file.damaged(number)
        rows.append(row)
    return rows


def _name_number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
