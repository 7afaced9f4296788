"""Search for good settings of a config: `python scripts/tune.py CartPole-v1:ppo_simd --jobs 2`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.errors import MissingDependencyError, exit_on_user_error
from utils.tuning.cli import parse_tune_args
from utils.tuning.session import plan_tuning


def main() -> int:
    """Read and check what is to be tuned, then work it off."""
    args = parse_tune_args(sys.argv[1:])
    spec, notes = plan_tuning(args)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    _check_optuna()
    from utils.tuning.session import run_tuning

    return run_tuning(spec, args)


def _check_optuna() -> None:
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("optuna", extra="sweeps", needed_for="tuning") from error


if __name__ == "__main__":
    exit_on_user_error(main)
