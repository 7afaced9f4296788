"""A sweep in the place of `scripts/sweep.py` whose trials are quick: FOLDER, then its arguments."""

from __future__ import annotations

import sys
from pathlib import Path

import utils.sweeps.trial
from utils.sweeps import read_sweep
from utils.sweeps.cli import parse_sweep_args
from utils.sweeps.session import run_session


def main() -> int:
    """Run the sweep; `train.py` of the folder stands in for the project's."""
    folder, *arguments = sys.argv[1:]
    utils.sweeps.trial.ROOT = Path(folder)
    args = parse_sweep_args(arguments)
    return run_session(read_sweep(args.path), args)
