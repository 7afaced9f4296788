"""Options that all benchmarks share."""

from __future__ import annotations

from pathlib import Path

from utils.config.option_parser import OptionParser, positive_number, whole_number


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


count = whole_number(least=1)
seconds = positive_number


def counts(text: str) -> list[int]:
    """Read whole numbers >= 1 with commas between them."""
    return [count(part) for part in text.split(",")]


def names(text: str) -> list[str]:
    """Read names with commas between them."""
    return [name for name in text.split(",") if name]
