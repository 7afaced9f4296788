"""What one call of train.py will do, decided before anything heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from utils.config import Config, config_from_dict, load_config, load_config_json
from utils.config.cli import TrainArgs
from utils.config.loader import refusal
from utils.config.problems import Problem
from utils.errors import ConfigError
from utils.run.lock import RunLock
from utils.run.registry import split_reference
from utils.run.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPlan:
    """A checked config and what training starts from."""

    config: Config
    runs_dir: Path
    resumed_run: Run | None = None
    """Go on in this folder, from its last checkpoint."""
    checkpoint: Path | None = None
    """The state to go on from, or the weights to begin with."""
    is_quiet: bool = False
    is_debug: bool = False


def plan_training(args: TrainArgs) -> TrainingPlan:
    """Turn parsed arguments into a plan.

    Raises:
        UserError: A config, run or checkpoint that does not exist or does not fit.
    """
    runs_dir = Path(args.runs_dir)
    if args.resume is not None:
        return _plan_resume(args, runs_dir)
    assert args.config_id is not None, args
    config = load_config(args.config_id, args.overrides)
    _check_wrappers(config, args)
    _check_threads(config, args)
    checkpoint = None
    if args.init_from_run is not None:
        reference, name = split_reference(args.init_from_run)
        checkpoint = Run.open(reference, runs_dir=runs_dir).checkpoint(name or "@best")
    return TrainingPlan(
        config=config,
        runs_dir=runs_dir,
        checkpoint=checkpoint,
        is_quiet=args.quiet,
        is_debug=args.debug,
    )


def _check_wrappers(config: Config, args: TrainArgs) -> None:
    """Refuse wrappers that do not exist or do not take their arguments, with the place of each."""
    if not config.env_wrappers:
        return
    from gym_wrappers import EnvWrapperRegistry

    problems = []
    for index, entry in enumerate(config.env_wrappers):
        try:
            EnvWrapperRegistry.resolve(entry)
        except ConfigError as error:
            here = f"env_wrappers.{index}"
            keys = (here, *(f"{here}.{key}" for key in entry))
            problems.append(Problem(keys, str(error)))
    if problems:
        assert args.config_id is not None, args
        raise refusal(problems, args.config_id, args.overrides)


def _check_threads(config: Config, args: TrainArgs) -> None:
    """Refuse more threads than numba has, with the place of the setting."""
    if config.vectorization != "simd" or config.n_workers is None:
        return
    from gym_envs.simd.compilation import most_threads

    most = most_threads()
    if config.n_workers > most:
        assert args.config_id is not None, args
        message = (
            f"'n_workers' must be 1 to {most} with vectorization: simd, got {config.n_workers}: "
            f"this machine has {most} cores (numba's threads)"
        )
        raise refusal([Problem(("n_workers",), message)], args.config_id, args.overrides)


def _plan_resume(args: TrainArgs, runs_dir: Path) -> TrainingPlan:
    reference, name = split_reference(args.resume)
    run = Run.open(reference, runs_dir=runs_dir)
    RunLock(run.path).release()  # tell at once if it is taken; training takes it again
    config = load_config_json(run.config_path)
    if args.config_id is not None and args.config_id != config.config_id:
        raise ConfigError(
            f"--resume {run.id}: that run is {config.config_id}, not {args.config_id}; "
            "leave the config id out"
        )
    return TrainingPlan(
        config=_lengthen(config, args),
        runs_dir=runs_dir,
        resumed_run=run,
        checkpoint=run.checkpoint(name or "@last"),
        is_quiet=args.quiet,
        is_debug=args.debug,
    )


def _lengthen(config: Config, args: TrainArgs) -> Config:
    """Apply --max-timesteps, the one setting of a run that may change when it is resumed."""
    changes = {override.path[0]: override.value for override in args.overrides}
    assert changes.keys() <= {"max_timesteps"}, changes
    if not changes:
        return config
    longer = config_from_dict(config.to_dict() | changes, source="--resume")
    if longer.max_timesteps < config.max_timesteps:
        raise ConfigError(
            f"--max-timesteps {longer.max_timesteps:,} is less than the {config.max_timesteps:,} "
            "that the run was made for; a resumed run can only become longer"
        )
    return longer
