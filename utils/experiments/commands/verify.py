"""`experiments.py verify`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from utils.config.option_parser import positive_number, whole_number
from utils.experiments.commands.options import make_parser, open_runs
from utils.loggers.terminal import is_terminal

_EPILOG = """\
examples:
  experiments.py verify @last                   train the newest run again and compare
  experiments.py verify 20261128 --until 1e5    its first 100,000 timesteps only

On the CPU every number must be equal, bit for bit; on a GPU within a relative tolerance of 0.001,
since its sums have no fixed order. What is trained again lies in a temporary folder; the run itself
is not touched. Exit code: 0 verified, 1 it differs."""


def main(argv: Sequence[str]) -> int:
    """Train runs again and compare them with what is stored."""
    parser = make_parser("verify", "Train a run again and compare.", epilog=_EPILOG)
    parser.add_argument(
        "runs", nargs="*", default=["@last"], metavar="RUN", help="@last (default), ids or paths"
    )
    parser.add_option(
        "--until", type=whole_number(least=1), metavar="N", help="compare so many timesteps only"
    )
    parser.add_option(
        "--tolerance",
        type=positive_number,
        metavar="X",
        help="relative difference that counts as equal (default: none on the CPU, 0.001 on a GPU)",
    )
    parser.add_option("--keep", type=Path, metavar="DIR", help="keep what is trained again here")
    given = parser.parse_or_refuse(argv)
    runs = open_runs(given.runs, given.runs_dir)

    from utils.verification.verdict_text import describe_verdict
    from utils.verification.verify import verify_run

    code = 0
    for run in runs:
        verdict = verify_run(
            run,
            until=given.until,
            tolerance=given.tolerance,
            folder=None if given.keep is None else given.keep / run.id,
            tell=functools.partial(_tell, run.id),
        )
        print(describe_verdict(run, verdict), flush=True)
        code = max(code, int(not verdict.is_verified))
    return code


def _tell(run_id: str, n: int, total: int) -> None:
    """Say that a run is being trained again, and on a terminal how far that is."""
    if n == 0:
        print(f"training {run_id} again", file=sys.stderr, flush=True)
    elif is_terminal(sys.stderr):
        end = "\n" if n == total else ""
        text = f"\r{n:,} of {total:,} epochs are equal\x1b[K"
        print(text, end=end, file=sys.stderr, flush=True)
