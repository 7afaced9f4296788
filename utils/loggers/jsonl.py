"""Metrics as JSON lines: one object per epoch, whole after a kill at any moment."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
        """Remove rows of later epochs."""
        lines = self._file.read_lines()
        kept = [line for line in lines if orjson.loads(line)["epoch"] <= epoch]
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
    """
    rows = [orjson.loads(line) for line in AppendFile(path).read_lines()]
    for row in rows:
        for key, value in row.items():
            if isinstance(value, str) and value in _NUMBERS:
                row[key] = _NUMBERS[value]
    return rows


def _name_number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
