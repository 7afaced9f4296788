"""The command line of `scripts/reproduce_results.py`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from utils.config.option_parser import OptionParser, whole_number
from utils.errors import ConfigError
from utils.reproduction.store import LAST
from utils.reproduction.tables import TABLES
from utils.smoke.brief import DEFAULT_TIMESTEPS

# Settings are tuned with small seeds; the page shows seeds that no one has looked at before, or a
# remark says so.
FIRST_SEED = 101
PAGE = Path(__file__).resolve().parents[2] / "VIBES" / "RESULTS.md"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_EXAMPLES = """examples:
  reproduce_results.py --plan                  what would be trained, and what is left out, and why
  reproduce_results.py --budget 20m --jobs 2   the cheapest configs, two at a time
  reproduce_results.py --compare               all that fits this machine, beside the last results
  reproduce_results.py --filter ppo --compare old.json --no-training
  reproduce_results.py --table atari-100k --plan      26 games of Dreamer, and what they cost
  reproduce_results.py --all --brief --seeds 1 --out /tmp/trial    does everything pass?
exit code: 0; 1 where a comparison names a regression; 3 where a training failed"""


def read_options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(
        prog="reproduce_results.py",
        description=(
            "Train the configs of the results page that fit this machine, write the page and a "
            "file of results, compare with earlier ones. Stopped and started again it goes on."
        ),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EXAMPLES,
    )
    count = whole_number(least=1)
    option = parser.add_option
    option("--filter", default="", metavar="TEXT", help="configs whose id holds this")
    option(
        "--table",
        choices=tuple(TABLES),
        help="a published table of world models in place of the page: " + ", ".join(TABLES),
    )
    option("--all", action="store_true", help="all other configs too, not those of the page alone")
    option(
        "--seeds", type=count, metavar="N", help="seeds of a row (default 3, or what it asks for)"
    )
    option(
        "--first-seed",
        type=count,
        default=FIRST_SEED,
        metavar="N",
        help=f"count seeds from here (default {FIRST_SEED}; smaller ones chose the settings)",
    )
    option("--jobs", type=count, default=1, metavar="N", help="trainings side by side (default 1)")
    option(
        "--budget",
        type=duration,
        metavar="TIME",
        help="leave out what does not fit into this wall time: 90s, 30m, 2h; the cheapest first",
    )
    option(
        "--brief",
        nargs="?",
        const=DEFAULT_TIMESTEPS,
        type=count,
        metavar="N",
        help=(
            f"a trial: small models, N timesteps (default {DEFAULT_TIMESTEPS}) and short episodes, "
            "to see that every config passes"
        ),
    )
    option("--plan", action="store_true", help="only tell what would be trained")
    option("--no-training", action="store_true", help="only of what is there already")
    option(
        "--out", type=Path, default=Path("runs/results"), metavar="DIR", help="folder of the runs"
    )
    option(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of every training, for a trial",
    )
    option(
        "--write",
        nargs="?",
        const=PAGE,
        type=Path,
        metavar="FILE",
        help="write the page (default VIBES/RESULTS.md) rather than print it",
    )
    option(
        "--json",
        type=Path,
        metavar="DIR",
        help="folder of the file of results, benchmark-<time>.json (default: that of --out)",
    )
    option(
        "--compare",
        nargs="?",
        const=LAST,
        metavar="OLD.json",
        help="name what is worse than in this file (default: the last one)",
    )
    options = parser.parse_or_refuse(argv)
    if options.table is not None and options.all:
        raise ConfigError("--table and --all exclude each other: leave one of them out")
    return options


def duration(text: str) -> float:
    """Read a length of time such as 90s, 30m or 2h; return seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError("must be a time such as 90s, 30m or 2h")
    return float(found[1]) * _UNITS[found[2]]
