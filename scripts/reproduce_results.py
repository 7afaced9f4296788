"""Train every config of the results page over several seeds, write the page, compare with earlier.

`python scripts/reproduce_results.py --jobs 2 --write`; stopped and started again it goes on with
what is missing. `--filter CartPole` takes part of it; the page keeps its other rows.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.errors import exit_on_user_error
from utils.reproduction.cli import read_options


def main() -> int:
    """Read the command line, then do what it asks for."""
    options = read_options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # trainings are stopped either way

    from utils.reproduction.command import run_suite

    return run_suite(options)


if __name__ == "__main__":
    exit_on_user_error(main)
