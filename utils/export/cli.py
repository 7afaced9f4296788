"""The command line of `scripts/export_policy.py`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from utils.config.option_parser import OptionParser
from utils.run.options import add_run_options, add_runs_dir_option

ExportFormat = Literal["onnx", "torch-export"]
SUFFIXES: dict[ExportFormat, str] = {"onnx": ".onnx", "torch-export": ".pt2"}

_EPILOG = """\
examples:
  export_policy.py @last                           runs/<id>/exports/<checkpoint>.onnx
  export_policy.py @last/epoch=60 --format torch-export
  export_policy.py 20261128 --output policy.onnx   the one run whose id begins so
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportArgs:
    """What the command line of `scripts/export_policy.py` asks for."""

    run: str
    """The run: `@last`, an id, the beginning of one, or a path; a checkpoint may follow a slash."""
    checkpoint: str | None
    """`@best`, `@last`, `epoch=XX` or a file; None for what `run` says, or the best."""
    format: ExportFormat
    output: Path | None
    """The file; None for one in the run's folder."""
    runs_dir: Path


def parse_export_args(argv: Sequence[str] | None = None) -> ExportArgs:
    """Read the command line of `scripts/export_policy.py`.

    Args:
        argv: The arguments; None for those of the process.

    Raises:
        UserError: An option is unknown (the nearest is named) or has a wrong value.
        SystemExit: --help was asked for and printed.
    """
    parser = OptionParser(
        prog="export_policy.py",
        description=(
            "Write a trained policy as a program that needs nothing of this project: normaliser, "
            "memory and action masks inside, compared with torch before it gets its name."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_run_options(parser, is_positional=True)
    parser.add_option(
        "--format", choices=list(SUFFIXES), default="onnx", help="onnx (default) or torch-export"
    )
    parser.add_option("--output", type=Path, metavar="FILE", help="an .onnx or a .pt2 file")
    add_runs_dir_option(parser)
    given = parser.parse_or_refuse(argv)
    return ExportArgs(
        run=given.run,
        checkpoint=given.checkpoint,
        format=given.format,
        output=given.output,
        runs_dir=given.runs_dir,
    )
