"""`experiments.py compare`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from utils.config.option_parser import OptionParser, positive_number
from utils.experiments.commands.options import add_filters, find_records, make_parser

if TYPE_CHECKING:
    from utils.experiments.methods import Comparison

_EPILOG = """\
examples:
  experiments.py compare env=CartPole-v1                       its configs beside each other
  experiments.py compare group=20261128-0312*,20261128-0415*   two groups of seeds
  experiments.py compare algo=ppo,sac --by algo --metric last  over all their environments
  experiments.py compare env=Acrobot-v1 --by gamma             by any setting"""


def main(argv: Sequence[str]) -> int:
    """Print the selected runs as methods beside each other."""
    parser = make_parser("compare", "Compare methods over their runs.", epilog=_EPILOG)
    add_filters(parser)
    add_comparison_options(parser)
    given = parser.parse_or_refuse(argv)

    from utils.experiments.bands import curve_key, curve_label, overall_bands
    from utils.experiments.comparison_text import describe_comparison
    from utils.experiments.differences import differing_settings
    from utils.experiments.statistics import improvements, summarize_methods

    comparison = read_comparison(given)
    key = curve_key(comparison)
    text = describe_comparison(
        comparison,
        summarize_methods(comparison),
        improvements(comparison),
        overall_bands(comparison, key),
        differing_settings(comparison),
        curve=curve_label(key),
    )
    print(text)
    return 0


def add_comparison_options(parser: OptionParser) -> None:
    """Add `--by`, `--metric` and `--target`."""
    parser.add_option(
        "--by",
        metavar="KEY",
        help="column or setting whose values are the methods (default: config, group or algo, the "
        "first that tells the runs apart)",
    )
    parser.add_option(
        "--metric",
        default="test",
        metavar="KEY",
        help="score of a run: test (default: test return of the best policy), last (of the last "
        "one), best (best evaluation), mean (over all evaluations), or any metric",
    )
    parser.add_option(
        "--target",
        type=_number,
        metavar="X",
        help="score that the optimality gap is measured from (default: where the task is solved)",
    )


def read_comparison(given: argparse.Namespace) -> Comparison:
    """Return the comparison that is asked for; see `compare_methods`."""
    from utils.experiments.methods import compare_methods

    records = find_records(given.runs_dir, given.filters)
    everything = find_records(given.runs_dir, [])
    return compare_methods(
        records, by=given.by, metric=given.metric, target=given.target, everything=everything
    )


def _number(text: str) -> float:
    sign = -1.0 if text.startswith("-") else 1.0
    return 0.0 if text.strip("-0.") == "" else sign * positive_number(text.lstrip("-"))
