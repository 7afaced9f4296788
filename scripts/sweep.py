"""Search for settings: `python scripts/sweep.py config/sweeps/cartpole_ppo.yaml --jobs 2`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from utils.errors import MissingDependencyError, exit_on_user_error
from utils.sweeps import SweepSpec, read_sweep
from utils.sweeps.cli import SweepArgs, parse_sweep_args
from utils.sweeps.validate import check_parameters


def main() -> int:
    """Read and check the sweep, then let the backend work it off."""
    args = parse_sweep_args(sys.argv[1:])
    spec = read_sweep(args.path)
    check_parameters(spec, has_seeds=args.n_seeds is not None)
    return _sweep_with_wandb(spec, args) if args.backend == "wandb" else _sweep_here(spec, args)


def _sweep_with_wandb(spec: SweepSpec, args: SweepArgs) -> int:
    from utils.sweeps.remote import agent_command, create_sweep, run_agents

    path = create_sweep(spec)
    print(f"one more agent, also on another machine: {agent_command(path)}")
    run_agents(path, n_trials=args.n_trials, n_jobs=args.n_jobs)
    return 0


def _sweep_here(spec: SweepSpec, args: SweepArgs) -> int:
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "optuna", extra="sweeps", needed_for="--backend local"
        ) from error
    from utils.sweeps.session import run_session

    return run_session(spec, args)


if __name__ == "__main__":
    exit_on_user_error(main)
