"""A tuning in the place of `scripts/tune.py` whose trials are quick: FOLDER, then its arguments."""

from __future__ import annotations

import sys
from pathlib import Path

import utils.sweeps.trial
from utils.tuning.cli import parse_tune_args
from utils.tuning.session import plan_tuning, run_tuning


def main() -> int:
    """Run the tuning; `train.py` of the folder stands in for the project's."""
    folder, *arguments = sys.argv[1:]
    utils.sweeps.trial.ROOT = Path(folder)
    args = parse_tune_args(arguments)
    spec, _ = plan_tuning(args)
    return run_tuning(spec, args)
