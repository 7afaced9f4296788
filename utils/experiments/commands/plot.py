"""`experiments.py plot`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from utils.config.problems import did_you_mean
from utils.errors import UserError
from utils.experiments.commands.compare import add_comparison_options, read_comparison
from utils.experiments.commands.options import add_filters, make_parser
from utils.storage import storage_errors, write_bytes

KINDS = ("curves", "scores", "profile", "improvement")
_EPILOG = """\
examples:
  experiments.py plot env=CartPole-v1 --out figures/cartpole          .png and .svg
  experiments.py plot algo=ppo,sac --by algo --kind scores --out scores.svg"""


def main(argv: Sequence[str]) -> int:
    """Draw the selected runs."""
    parser = make_parser("plot", "Draw methods over their runs, for papers.", epilog=_EPILOG)
    add_filters(parser)
    add_comparison_options(parser)
    parser.add_option(
        "--kind",
        type=_kind,
        default="curves",
        metavar="KIND",
        help="curves (default), scores (aggregates with intervals), profile, improvement",
    )
    parser.add_option(
        "--curve", metavar="METRIC", help="metric of the curves (default: return in evaluations)"
    )
    parser.add_option(
        "--out",
        type=Path,
        default=Path("plot"),
        metavar="FILE",
        help="file to write; .png or .svg, both without a suffix (default plot.png and plot.svg)",
    )
    given = parser.parse_or_refuse(argv)
    if given.curve is not None and given.kind != "curves":
        raise UserError(f"--curve has no effect with --kind {given.kind}")
    formats = _formats(given.out)

    from utils.experiments.figures import draw

    for name, content in draw(_figure(given), formats=formats).items():
        path = given.out.with_name(
            f"{given.out.stem if given.out.suffix else given.out.name}.{name}"
        )
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content, sync=False)
        print(f"written to {path}")
    return 0


def _figure(given: argparse.Namespace) -> Callable[[], Any]:
    from utils.experiments import figures
    from utils.experiments.bands import bands_by_task, curve_key, curve_label
    from utils.experiments.statistics import improvements, summarize_methods

    comparison = read_comparison(given)
    label = "normalised score" if comparison.scales else curve_label(comparison.metric)
    if given.kind == "curves":
        key = given.curve or curve_key(comparison)
        panels = bands_by_task(comparison, key)
        return lambda: figures.curves_figure(panels, label=curve_label(key))
    if given.kind == "scores":
        scores = summarize_methods(comparison)
        gap = "" if comparison.target is None else f"gap to {comparison.target:g}"
        return lambda: figures.scores_figure(scores, label=label, gap_label=gap)
    if given.kind == "profile":
        return lambda: figures.profile_figure(comparison, label=label)
    pairs = improvements(comparison)
    if not pairs:
        raise UserError("one method alone improves on nothing; widen the filters, or --by")
    return lambda: figures.improvement_figure(pairs)


def _formats(out: Path) -> list[str]:
    if out.suffix in ("", ".png", ".svg"):
        return [out.suffix[1:]] if out.suffix else ["png", "svg"]
    raise UserError(f"--out {out}: .png, .svg, or no suffix for both")


def _kind(text: str) -> str:
    if text not in KINDS:
        hint = did_you_mean(text, KINDS)
        raise argparse.ArgumentTypeError(f"unknown kind{hint} (known: {', '.join(KINDS)})")
    return text
