"""Speed of trainings by several processes: `python scripts/benchmark_scaling.py --sizes 1,2,4`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.benchmarks.scaling import CASES, measure_scaling, scaling_table
from utils.config.option_parser import OptionParser, positive_number
from utils.errors import UserError, exit_on_user_error


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = OptionParser(
        prog="benchmark_scaling.py",
        description=(
            "Train a config with more and more processes, environments and minibatches growing "
            "with them, and compare the steps per second of their last epochs."
        ),
        allow_abbrev=False,
    )
    parser.add_option("--cases", default="cartpole", metavar="A,B", help=f"of {', '.join(CASES)}")
    parser.add_option("--sizes", default="1,2,4", metavar="N,N", help="processes (default 1,2,4)")
    parser.add_option("--device", default="cuda", metavar="NAME", help="cuda (default) or cpu")
    parser.add_option("--seconds", type=positive_number, default=30.0, help="of each (default 30)")
    parser.add_option("--out", type=Path, metavar="FILE", help="also write the figures as JSON")
    return parser.parse_or_refuse()


def main() -> None:
    """Measure each case with each number of processes, and print a table."""
    options = read_options()
    names = options.cases.split(",")
    sizes = [int(word) if word.isdecimal() else 0 for word in options.sizes.split(",")]
    if unknown := [name for name in names if name not in CASES]:
        raise UserError(f"--cases {unknown[0]}: unknown (known: {', '.join(CASES)})")
    if min(sizes) < 1 or options.device not in ("cuda", "cpu"):
        raise UserError("--sizes are whole numbers >= 1, and --device is cuda or cpu")
    figures = []
    for name in names:
        for size in sizes:
            figure = measure_scaling(name, size, device=options.device, seconds=options.seconds)
            print(f"{name}, {size}: {figure.steps_per_second:,.0f} steps/s", file=sys.stderr)
            figures.append(figure)
    print(scaling_table(figures))
    if options.out is not None:
        from utils.storage import write_json

        write_json(options.out, [figure.to_dict() for figure in figures])


if __name__ == "__main__":
    exit_on_user_error(main)
