"""Options that all benchmarks share."""

from __future__ import annotations

import argparse
from pathlib import Path

from utils.config.option_parser import OptionParser


def benchmark_parser(prog: str, description: str) -> OptionParser:
    """Build a parser with the options that every benchmark has: --windows, --threads, --json."""
    parser = OptionParser(prog=prog, description=description, allow_abbrev=False)
    parser.add_option(
        "--windows",
        type=count,
        default=5,
        metavar="N",
        help="measurements of each contestant, in turns; the median counts (default 5)",
    )
    parser.add_option(
        "--threads", type=count, default=1, metavar="N", help="threads of torch (default 1)"
    )
    parser.add_option(
        "--json",
        type=Path,
        metavar="PATH",
        help="write the result there too; into a folder under the name of the benchmark",
    )
    return parser


def count(text: str) -> int:
    """Read a whole number >= 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got '{text}'")
    return int(text)


def counts(text: str) -> list[int]:
    """Read whole numbers >= 1 with commas between them."""
    return [count(part) for part in text.split(",")]


def seconds(text: str) -> float:
    """Read a number of seconds > 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be seconds > 0, got '{text}'")
    return value


def names(text: str) -> list[str]:
    """Read names with commas between them."""
    return [name for name in text.split(",") if name]
