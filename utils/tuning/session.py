"""One call of scripts/tune.py: what it will do, and the doing of it."""

from __future__ import annotations

from pathlib import Path

from utils.config import load_config
from utils.errors import ConfigError
from utils.sweeps import SweepSpec
from utils.sweeps.cli import SweepArgs
from utils.sweeps.validate import check_parameters
from utils.tuning.cli import TuneArgs
from utils.tuning.space import find_space, fit_to_config
from utils.tuning.spec import build_tuning

DEFAULT_TRIALS = 40


def plan_tuning(args: TuneArgs) -> tuple[SweepSpec, list[str]]:
    """Turn parsed arguments into a sweep; nothing heavy is imported.

    Returns:
        The sweep, and one line for everything of the shared space that the config does not take.

    Raises:
        ConfigError: Config, space or settings are wrong; one line per problem.
    """
    config = load_config(args.config_id, args.settings)
    if args.space is not None and not args.space.is_file():
        raise ConfigError(
            f"--space {args.space}: there is no such file; leave it out for the space that "
            f"{config.algo_id} has"
        )
    space = args.space or find_space(config.algo_id)
    spec = build_tuning(args.config_id, space, settings=args.settings, budget=args.budget)
    if args.space is None:
        return fit_to_config(spec)
    check_parameters(spec, has_seeds=True)
    return spec, []


def tuning_folder(args: TuneArgs) -> Path:
    """Return the folder of a tuning: that of the command line, or one for the config."""
    if args.folder is not None:
        return args.folder
    return Path("runs") / "tuning" / args.config_id.replace("/", "-").replace(":", "-")


def run_tuning(spec: SweepSpec, args: TuneArgs) -> int:
    """Begin a tuning or go on with it, then tell what it found; or tell only.

    Returns:
        Exit code: 0 done, 130 interrupted; running trials are done again next time.

    Raises:
        ConfigError: The folder holds another tuning, or none where one is asked for.
        RunFailedError: Every trial has failed.
    """
    from utils.sweeps.session import best_as_yaml, run_session

    folder = tuning_folder(args)
    if args.wants_best:
        print(best_as_yaml(spec, folder))
        return 0
    given = SweepArgs(
        path=spec.path,
        backend="local",
        n_trials=args.n_trials or DEFAULT_TRIALS,
        n_jobs=args.n_jobs,
        n_seeds=args.n_seeds,
        seed=args.seed,
        folder=folder,
        is_report_only=args.wants_report,
    )
    return run_session(spec, given)
