"""The command line of `run_inspect.py`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.config.option_parser import OptionParser, whole_number
from utils.errors import UserError
from utils.run.options import add_run_option, add_runs_dir_option

LOOPBACK = "127.0.0.1"
_LAST_PORT = 65_535

_EPILOG = """\
examples:
  run_inspect.py                                 the newest run, at http://127.0.0.1:7860
  run_inspect.py --run-id @last/epoch=60         with an earlier checkpoint chosen
  run_inspect.py --port 0                        a port that is free
  run_inspect.py --host 0.0.0.0                  for others in the network; there is no password
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class InspectArgs:
    """What the command line of `run_inspect.py` asks for."""

    run: str
    """The run: `@last`, an id, the beginning of one, or a path; a checkpoint may follow a slash."""
    port: int
    """Port that the page is served at, 0 for any that is free."""
    host: str
    """Address that it is served at; only this machine reaches a loopback address."""
    runs_dir: Path


def parse_inspect_args(argv: Sequence[str] | None = None) -> InspectArgs:
    """Read the command line of `run_inspect.py`.

    Args:
        argv: The arguments; None for those of the process.

    Raises:
        UserError: An option is unknown (the nearest is named) or has a wrong value; one line per
            problem.
        SystemExit: --help was asked for and printed.
    """
    given = _build_parser().parse_or_refuse(argv)
    if given.port > _LAST_PORT:
        raise UserError(f"--port {given.port}: ports end at {_LAST_PORT}")
    return InspectArgs(run=given.run_id, port=given.port, host=given.host, runs_dir=given.runs_dir)


def _build_parser() -> OptionParser:
    parser = OptionParser(
        prog="run_inspect.py",
        description="Look into the episodes of a trained policy in the browser.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_run_option(parser)
    parser.add_option(
        "--port",
        type=whole_number(least=0),
        default=7860,
        metavar="N",
        help="port of the page (default 7860); 0 takes one that is free",
    )
    parser.add_option(
        "--host",
        default=LOOPBACK,
        metavar="ADDRESS",
        help=f"address of the page (default {LOOPBACK}: nobody but this machine reaches it)",
    )
    add_runs_dir_option(parser)
    return parser
