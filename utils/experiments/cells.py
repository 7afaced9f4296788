"""The values of runs as tables show them to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utils.experiments.records import Record, show_value

LONGEST_NOTE = 40
_SCHEDULE = {"start", "end", "from", "to"}
_EMPTY = ("note", "tags", "group")
"""Columns that are left empty where a run has nothing of them."""


def format_cell(record: Record, key: str) -> str:
    """Write a column, a setting or a metric of a run; a setting exactly, a result in short."""
    value = record.value(key)
    if value is None or value in ("", []):
        return "" if key in _EMPTY else "-"
    if key in record.settings and key not in record.columns:
        return format_setting(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and key != "seed":
        return f"{value:,}"
    if isinstance(value, float):
        return format_result(value)
    text = show_value(value).replace("\n", " ")
    return text if len(text) <= LONGEST_NOTE or key != "note" else f"{text[: LONGEST_NOTE - 1]}…"


def format_result(value: float) -> str:
    """Write a number that was measured, with two digits after the point where that tells it."""
    return f"{value:,.2f}" if value == 0.0 or 0.01 <= abs(value) < 1e6 else f"{value:.4g}"


def format_setting(value: Any) -> str:
    """Write a setting as one types it; a schedule as `lin_0.001` or `0.001 → 0.0001`."""
    if isinstance(value, float) and not isinstance(value, bool):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, Mapping) and value.keys() == _SCHEDULE:
        start, end, first, last = (format_setting(value[k]) for k in ("start", "end", "from", "to"))
        if (value["from"], value["to"]) == (0.0, 1.0):
            return f"lin_{start}" if value["end"] == 0.0 else f"{start} → {end}"
        return f"{start} → {end} (from {first} to {last})"
    return show_value(value)
