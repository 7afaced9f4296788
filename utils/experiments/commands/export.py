"""`experiments.py export`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from utils.config.problems import did_you_mean
from utils.errors import UserError
from utils.experiments.cells import format_cell, format_result
from utils.experiments.commands.compare import add_comparison_options, read_comparison
from utils.experiments.commands.options import add_filters, find_records, make_parser
from utils.experiments.filters import canonical_key, check_key
from utils.experiments.records import Record, show_value
from utils.experiments.tables import FORMATS, Table, write_table
from utils.storage import storage_errors, write_bytes
from utils.text_tables import counted

WHAT = ("runs", "scores", "curves")
_COLUMNS = ("id", "config", "seed", "status", "timesteps", "best", "test", "last", "group", "tags")
_COLUMNS_ON_PAPER = ("config", "seed", "status", "timesteps", "best", "test", "last")
_EPILOG = """\
examples:
  experiments.py export env=CartPole-v1 --format csv --out runs.csv
  experiments.py export env=CartPole-v1 --what scores --format tex --out table.tex
  experiments.py export group=20261128* --what curves --format csv --out curves.csv"""


def main(argv: Sequence[str]) -> int:
    """Write the selected runs as a table."""
    parser = make_parser("export", "Write runs, aggregates or curves as a table.", epilog=_EPILOG)
    add_filters(parser)
    parser.add_option(
        "--what",
        type=_one_of("what", WHAT),
        default="runs",
        metavar="WHAT",
        help="runs (a row each, default), scores (a row per method), curves (a row per value)",
    )
    parser.add_option(
        "--format", type=_one_of("format", FORMATS), metavar="NAME", help="csv, md or tex"
    )
    parser.add_option(
        "--columns",
        metavar="KEY,...",
        help=(
            f"with --what runs (default {','.join(_COLUMNS)}; of tex {','.join(_COLUMNS_ON_PAPER)})"
        ),
    )
    parser.add_option("--curve", metavar="METRIC", help="with --what curves: which metric")
    add_comparison_options(parser)
    parser.add_option("--out", type=Path, metavar="FILE", help="file to write (default: print it)")
    given = parser.parse_or_refuse(argv)
    _refuse_without_effect(given)
    form = given.format = given.format or _form_of(given.out)
    table, caption = {"runs": _runs, "scores": _scores, "curves": _curves}[given.what](given)
    text = write_table(table, form, caption=caption)
    if given.out is None:
        print(text, end="")
        return 0
    with storage_errors(given.out):
        given.out.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(given.out, text.encode(), sync=False)
    n_rows = len(table.rows)
    print(f"{n_rows:,} {'row' if n_rows == 1 else 'rows'} written to {given.out}")
    return 0


def _runs(given: argparse.Namespace) -> tuple[Table, str]:
    records = find_records(given.runs_dir, given.filters)
    usual = _COLUMNS_ON_PAPER if given.format == "tex" else _COLUMNS
    keys = [canonical_key(key.strip()) for key in (given.columns or ",".join(usual)).split(",")]
    for key in keys:
        check_key(key, records)
    write = _exactly if given.format == "csv" else format_cell
    rows = tuple(tuple(write(record, key) for key in keys) for record in records)
    return Table(tuple(keys), rows), f"{counted(len(records), 'run')}."


def _exactly(record: Record, key: str) -> str:
    """Write a value as programs read it: all of its digits."""
    value: Any = record.value(key)
    return "" if value in (None, []) else show_value(value)


def _scores(given: argparse.Namespace) -> tuple[Table, str]:
    from utils.experiments.bands import curve_label
    from utils.experiments.comparison_text import scores_header, scores_row
    from utils.experiments.statistics import summarize_methods

    comparison = read_comparison(given)
    rows = tuple(scores_row(item) for item in summarize_methods(comparison))
    scales = "".join(f" {task}: {scale.reason}." for task, scale in comparison.scales.items())
    way = "Student's t" if len(comparison.tasks) == 1 else "stratified bootstrap"
    what = curve_label(comparison.metric)
    caption = (
        f"{what[0].upper()}{what[1:]} on {', '.join(comparison.tasks)}. "
        f"Mean with its 95 % interval by {way}; interquartile mean with its 95 % interval by "
        f"stratified bootstrap.{scales}"
    )
    return Table(scores_header(comparison), rows), caption


def _curves(given: argparse.Namespace) -> tuple[Table, str]:
    from utils.experiments.bands import curve_label
    from utils.experiments.curves import choose_curve_key, read_run_curve

    records = find_records(given.runs_dir, given.filters)
    key = given.curve or choose_curve_key([record.run for record in records])
    names = ("config", "seed") if given.format == "tex" else ("id", "config", "seed")
    is_exact = given.format == "csv"
    rows: list[tuple[str, ...]] = []
    for record in records:
        curve = read_run_curve(record.run, key)
        if curve is not None:
            head = tuple(_exactly(record, name) for name in names)
            rows += [
                (*head, f"{t:.0f}", repr(v)) if is_exact else (*head, f"{t:,.0f}", format_result(v))
                for t, v in zip(curve.x.tolist(), curve.values.tolist(), strict=True)
            ]
    if not rows:
        raise UserError(f"none of these runs has a curve of '{key}'")
    label = curve_label(key)
    return Table((*names, "timesteps", key), tuple(rows)), f"{label[0].upper()}{label[1:]}."


def _refuse_without_effect(given: argparse.Namespace) -> None:
    is_of = {
        "--columns": (given.columns is not None, "runs"),
        "--curve": (given.curve is not None, "curves"),
        "--by": (given.by is not None, "scores"),
        "--metric": (given.metric != "test", "scores"),
        "--target": (given.target is not None, "scores"),
    }
    problems = [
        f"{name} has no effect with --what {given.what}"
        for name, (is_given, what) in is_of.items()
        if is_given and what != given.what
    ]
    if problems:
        raise UserError("\n".join(problems))


def _form_of(out: Path | None) -> str:
    suffix = "" if out is None else out.suffix[1:]
    if suffix in FORMATS:
        return suffix
    raise UserError(f"--format is missing: {', '.join(FORMATS)}")


def _one_of(what: str, choices: Sequence[str]) -> Any:
    def read(text: str) -> str:
        if text not in choices:
            hint = did_you_mean(text, choices)
            raise argparse.ArgumentTypeError(f"unknown {what}{hint} (known: {', '.join(choices)})")
        return text

    return read
