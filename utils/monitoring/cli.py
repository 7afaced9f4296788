"""The command line of `scripts/monitor.py`."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from utils.config.option_parser import OptionParser
from utils.errors import ConfigError, MissingDependencyError
from utils.loggers.terminal import is_ascii_only
from utils.monitoring.health import find_troubles
from utils.monitoring.run_view import RunView
from utils.monitoring.summary import summarize_run
from utils.run import Run
from utils.run.options import add_runs_dir_option

_NICENESS = 10
_EPILOG = """\
examples:
  monitor.py                       watch the newest run, and the next one when that has ended
  monitor.py --run-id 20261128     the run whose id begins so
  monitor.py --once | head -20     how it stands, as plain text

The monitor reads the files of the run. Leaving it, or killing it, never touches the training.
"""


def main(argv: list[str] | None = None) -> int:
    """Watch a run, or print once how it stands."""
    options = _read_options(argv)
    run = Run.open(options.run_id, runs_dir=options.runs_dir, needs_checkpoint=False)
    if options.once:
        _print_once(run)
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("the monitor needs a terminal; --once prints how the run stands")
    try:
        from utils.monitoring.app import MonitorApp
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("textual", "rich"):
            raise
        raise MissingDependencyError(
            "textual", extra="monitor", needed_for="the monitor (all but --once)"
        ) from error
    os.nice(_NICENESS)  # a training on the same cores goes first
    MonitorApp(
        run, runs_dir=run.path.resolve().parent, follows_newest=options.run_id == "@last"
    ).run()
    return 0


def _read_options(argv: list[str] | None) -> argparse.Namespace:
    parser = OptionParser(
        prog="monitor.py",
        description="Watch a run in the terminal: metrics, curves, alerts; save, evaluate, stop.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_option(
        "--run-id", default="@last", metavar="RUN", help="@last, an id, its beginning, or a path"
    )
    add_runs_dir_option(parser)
    parser.add_option("--once", action="store_true", help="print a summary and leave")
    return parser.parse_or_refuse(argv)


def _print_once(run: Run) -> None:
    view = RunView(run)
    view.refresh()
    # A pipe gets lines that no terminal's width cuts short.
    width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    print(summarize_run(view, find_troubles(view), width=width, is_ascii=is_ascii_only(sys.stdout)))
