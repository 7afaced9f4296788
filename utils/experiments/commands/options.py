"""Options and words that the commands share."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from utils.config.option_parser import OptionParser
from utils.errors import UserError
from utils.experiments.cache import read_records
from utils.experiments.filters import find_idle_values, parse_conditions, select
from utils.experiments.records import Record
from utils.run import Run
from utils.run.options import add_runs_dir_option

FILTERS = """\
filters: KEY=VALUE, KEY!=VALUE, KEY>VALUE, KEY<VALUE (quote > and <); a comma means or, * anything;
  KEY is a column (algo, env, variant, config, seed, status, group, tag, test, best, ...), any
  setting (policy_lr, policy_kwargs.activation) or any metric; a word alone is looked for in the
  id, the config and the group. Several filters have to hold together."""


def make_parser(name: str, description: str, *, epilog: str = "") -> OptionParser:
    """Return the parser of a command, with `--runs-dir`."""
    parser = OptionParser(
        prog=f"experiments.py {name}",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_runs_dir_option(parser)
    return parser


def add_filters(parser: OptionParser) -> None:
    """Add the filters as `filters`."""
    parser.add_argument("filters", nargs="*", metavar="FILTER", help="which runs (default: all)")
    parser.epilog = "\n\n".join(part for part in (parser.epilog, FILTERS) if part)


def find_records(runs_dir: Path, filters: Sequence[str], *, needs_one: bool = True) -> list[Record]:
    """Return the runs that the filters select, newest first.

    Raises:
        UserError: There is no such folder, no run in it or, if one is needed, none is selected.
    """
    conditions = parse_conditions(filters)
    if not runs_dir.is_dir():
        raise UserError(f"there is no folder '{runs_dir}': train something first, or --runs-dir")
    records = read_records(runs_dir)
    if not records:
        raise UserError(f"there is no run in '{runs_dir}'; train one first")
    found = select(records, conditions)
    if not found and needs_one:
        raise UserError(f"none of the {len(records)} runs in '{runs_dir}' meets {_shown(filters)}")
    for value in find_idle_values(records, conditions):
        print(f"note: no run in '{runs_dir}' has {value}", file=sys.stderr)
    return found


def open_runs(references: Sequence[str], runs_dir: Path) -> list[Run]:
    """Return the runs that people name: ids, beginnings of ids, paths, @last."""
    return [Run.open(name, runs_dir=runs_dir, needs_checkpoint=False) for name in references]


def terminal_width() -> int:
    """Return how wide lines may be; a pipe cuts nothing short."""
    return shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 1000


def is_confirmed(question: str) -> bool:
    """Ask a person at a terminal; anything but yes is no.

    Raises:
        UserError: Nobody is there to answer.
    """
    if not sys.stdin.isatty():
        raise UserError("nobody is there to confirm it: give --yes, or look with --dry-run first")
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("y", "yes")


def _shown(filters: Sequence[str]) -> str:
    return " ".join(f"'{word}'" for word in filters)
