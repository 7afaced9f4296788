"""`experiments.py list`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from utils.config.option_parser import whole_number
from utils.errors import UserError
from utils.experiments.cells import format_cell
from utils.experiments.commands.options import (
    add_filters,
    find_records,
    make_parser,
    terminal_width,
)
from utils.experiments.filters import canonical_key, check_key
from utils.experiments.records import Record, show_value
from utils.text_tables import counted, format_table

COLUMNS = ("id", "seed", "status", "timesteps", "best", "test", "group", "tags", "note")
_EPILOG = """\
examples:
  experiments.py list algo=ppo env=CartPole-v1 status=completed
  experiments.py list 'test>400' tag=paper --sort test --columns id,seed,test,policy_lr"""


def main(argv: Sequence[str]) -> int:
    """Print the selected runs as a table."""
    parser = make_parser("list", "Show runs as a table.", epilog=_EPILOG)
    add_filters(parser)
    parser.add_option("--sort", metavar="KEY", help="column, setting or metric; the highest first")
    parser.add_option("--ascending", action="store_true", help="with --sort: the lowest first")
    parser.add_option("--limit", type=whole_number(least=1), metavar="N", help="show so many")
    parser.add_option(
        "--columns", metavar="KEY,...", help=f"what to show (default {','.join(COLUMNS)})"
    )
    given = parser.parse_or_refuse(argv)
    if given.ascending and given.sort is None:
        raise UserError("--ascending has no effect without --sort")
    records = find_records(given.runs_dir, given.filters)
    columns = _columns(given.columns, records)
    if given.sort is not None:
        records = sort_records(records, canonical_key(given.sort), is_ascending=given.ascending)
    shown = records[: given.limit]
    print(_table(shown, columns))
    hidden = (
        f", {len(records) - len(shown)} more are not shown" if len(shown) < len(records) else ""
    )
    print(f"{counted(len(shown), 'run')}{hidden}")
    return 0


def sort_records(records: Sequence[Record], key: str, *, is_ascending: bool) -> list[Record]:
    """Return the runs by a value; those that lack it come last.

    Raises:
        UserError: No run has it.
    """
    check_key(key, records)
    lacking = [record for record in records if record.value(key) in (None, "")]
    having = [record for record in records if record.value(key) not in (None, "")]
    having.sort(key=lambda record: _order(record.value(key)), reverse=not is_ascending)
    return having + lacking


def _order(value: Any) -> tuple[int, float, str]:
    if isinstance(value, int | float):
        return 1, float(value), ""
    return 0, 0.0, show_value(value)


def _columns(text: str | None, records: Sequence[Record]) -> list[str]:
    if text is None:
        return [
            name
            for name in COLUMNS
            if name in ("id", "seed", "status", "timesteps", "test")
            or any(record.columns[name] not in (None, "", []) for record in records)
        ]
    keys = [canonical_key(key.strip()) for key in text.split(",") if key.strip()]
    for key in keys:
        check_key(key, records)
    return keys


def _table(records: Sequence[Record], columns: Sequence[str]) -> str:
    rows = [[format_cell(record, key) for key in columns] for record in records]
    width = terminal_width()
    return "\n".join(line[:width] for line in format_table(columns, rows).splitlines())
