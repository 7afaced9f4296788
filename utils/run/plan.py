"""What one call of train.py will do, decided before anything heavy is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.config import Config, config_from_dict, load_config, load_config_json
from utils.config.algos.sized import SizedKwargs
from utils.config.cli import RESUMABLE, TrainArgs
from utils.config.loader import refusal
from utils.config.problems import Problem
from utils.config.validate import find_ineffective_options
from utils.errors import ConfigError
from utils.phases import ALL_COMPLETE
from utils.run.continuation import uses_more_time
from utils.run.groups import RunGroup, find_group
from utils.run.heartbeat import wait_for_sign
from utils.run.labels import check_word
from utils.run.lock import RunLock
from utils.run.registry import split_reference
from utils.run.run import Run
from utils.run.status import is_elsewhere

_GOALS = ("early_stop_on_eval_reward", "early_stop_on_train_reward")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingPlan:
    """A checked config and what training starts from."""

    config: Config
    runs_dir: Path
    resumed_run: Run | None = None
    """Go on in this folder, from its last checkpoint."""
    checkpoint: Path | None = None
    """The state to go on from, or the weights to begin with."""
    note: str | None = None
    """What a person should know of it, one line."""
    group: str | None = None
    """Label of the runs that a new one belongs to."""
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
    if args.group is not None:
        check_word(args.group, what="--group")
    config = _load(args, runs_dir)
    _check_wrappers(config, args)
    _check_threads(config, args)
    if args.debug and config.n_processes > 1:
        raise ConfigError(
            f"--debug trains one environment in one process, and the config asks for "
            f"{config.n_processes} processes: leave --debug out, or give --set debug=true, which "
            "keeps the environments"
        )
    checkpoint = None
    if args.init_from_run is not None:
        reference, name = split_reference(args.init_from_run)
        checkpoint = Run.open(reference, runs_dir=runs_dir).checkpoint(name or "@best")
    return TrainingPlan(
        config=config,
        runs_dir=runs_dir,
        checkpoint=checkpoint,
        group=args.group,
        is_quiet=args.quiet,
        is_debug=args.debug,
    )


def _load(args: TrainArgs, runs_dir: Path) -> Config:
    """Load the config of a new run: by its id, or that of another run, with what is laid over."""
    if args.like is None:
        assert args.config_id is not None, args
        return load_config(args.config_id, args.overrides)
    path = Path(args.like)
    if not path.is_file():
        path = Run.open(args.like, runs_dir=runs_dir, needs_checkpoint=False).config_path
    settings = load_config_json(path).to_dict()
    paths = [".".join(override.path) for override in args.overrides]
    for override in args.overrides:
        lay_over(settings, override.path, override.value)
    config = config_from_dict(settings, source=f"--like {args.like}", written=paths)
    problems = find_ineffective_options(config, layer_of=lambda key: 0 if key in paths else None)
    if isinstance(config.policy_kwargs, SizedKwargs) and "policy_kwargs.size" in paths:
        widths = ", ".join(config.policy_kwargs.widths())
        message = f"'policy_kwargs.size' has no effect: a run gives every width ({widths})"
        problems.append(Problem(("policy_kwargs.size",), message))
    if problems:
        raise _refusal(problems, args)
    return config


def lay_over(settings: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Change one setting of a saved config in place; `path` leads into blocks."""
    *blocks, key = path
    for name in blocks:
        inner = settings.get(name)
        settings[name] = dict(inner) if isinstance(inner, dict) else {}
        settings = settings[name]
    settings[key] = value


def _refusal(problems: Sequence[Problem], args: TrainArgs) -> ConfigError:
    if args.config_id is None:
        lines = [f"--like {args.like}: {problem.message}" for problem in problems]
        return ConfigError("\n".join(lines))
    return refusal(problems, args.config_id, args.overrides)


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
        raise _refusal(problems, args)


def _check_threads(config: Config, args: TrainArgs) -> None:
    """Refuse more threads than numba has, with the place of the setting."""
    if config.vectorization != "simd" or config.n_workers is None:
        return
    from gym_envs.simd.compilation import most_threads

    most = most_threads()
    if config.n_workers > most:
        message = (
            f"'n_workers' must be 1 to {most} with vectorization: simd, got {config.n_workers}: "
            f"this machine has {most} cores (numba's threads)"
        )
        raise _refusal([Problem(("n_workers",), message)], args)


def _check_elsewhere(run: Run) -> None:
    """Refuse a run that another machine trains, whose locks may not be seen on this one.

    Raises:
        ConfigError: The other machine gives signs of life.
    """
    status = run.read_status()
    if status["status"] != "running" or not is_elsewhere(status):
        return
    print(
        f"note: {status['host']} was training run '{run.id}' a moment ago: waiting for a sign of "
        "life from there",
        file=sys.stderr,
    )
    if wait_for_sign(run.path):
        raise ConfigError(
            f"run '{run.id}' is being trained on {status['host']}: stop it before resuming it"
        )


def _plan_resume(args: TrainArgs, runs_dir: Path) -> TrainingPlan:
    reference, name = split_reference(args.resume)
    run = Run.open(reference, runs_dir=runs_dir)
    RunLock(run.path).release()  # tell at once if it is taken; training takes it again
    _check_elsewhere(run)
    config = load_config_json(run.config_path)
    if args.config_id is not None and args.config_id != config.config_id:
        raise ConfigError(
            f"--resume {run.id}: that run is {config.config_id}, not {args.config_id}; "
            "leave the config id out"
        )
    checkpoint, last = run.checkpoint(name or "@last"), run.checkpoint("@last")
    status = run.read_status()
    is_complete = checkpoint == last and status["status"] == "completed"
    if not uses_more_time(is_complete=is_complete, reason=status.get("reason")):
        raise ConfigError(
            f"run '{run.id}' is complete ({ALL_COMPLETE}), and more time adds none: begin a new "
            f"run with its weights, --init-from-run {run.id}"
        )
    changed, note = _change(config, args, of_goal=is_complete and _reached_goal(run, config))
    if is_complete and changed == config:
        raise ConfigError(_why_nothing_to_do(run, config))
    return TrainingPlan(
        config=changed,
        runs_dir=runs_dir,
        resumed_run=run,
        checkpoint=checkpoint,
        note=note,
        is_quiet=args.quiet,
        is_debug=args.debug,
    )


def _change(config: Config, args: TrainArgs, *, of_goal: bool) -> tuple[Config, str | None]:
    """Apply what ends a run, the only settings that may change when it is resumed.

    Args:
        config: Of the run.
        args: What is asked for.
        of_goal: It is complete because it reached its goal: with more time and no other goal it
            trains on to its last timestep.

    Returns:
        The config, and what a person should know of it.
    """
    changes = {override.path[0]: override.value for override in args.overrides}
    assert changes.keys() <= set(RESUMABLE), changes
    if not changes:
        return config, None
    note = None
    goals = [key for key in _GOALS if getattr(config, key)]
    if of_goal and changes.keys() == {"max_timesteps"}:
        changes |= dict.fromkeys(goals, False)
        note = "the goal that ended this run no longer does: it goes on to its last timestep"
    changed = config_from_dict(config.to_dict() | changes, source="--resume")
    if changed.max_timesteps < config.max_timesteps:
        raise ConfigError(
            f"--max-timesteps {changed.max_timesteps:,} is less than the {config.max_timesteps:,} "
            "that the run was made for; a resumed run can only become longer"
        )
    if changed.max_timesteps == config.max_timesteps and note is not None:
        return config, None
    return changed, note


def _reached_goal(run: Run, config: Config) -> bool:
    """Say whether a complete run ended before its time."""
    timesteps = run.saved_timesteps()
    has_goal = any(getattr(config, key) for key in _GOALS)
    return has_goal and timesteps is not None and timesteps < config.max_timesteps


def _why_nothing_to_do(run: Run, config: Config) -> str:
    status = run.read_status()
    if "imported_at" in status:
        return (
            f"run '{run.id}' was {status.get('reason', 'imported')}: it is played, inspected and "
            "published as it is, and not trained on here"
        )
    if not _reached_goal(run, config):
        return (
            f"run '{run.id}' has made its {config.max_timesteps:,} timesteps; "
            "give a larger --max-timesteps to train it further"
        )
    reason = status.get("reason", "it reached its goal")
    goals = " and ".join(f"--set {key}=false" for key in _GOALS if getattr(config, key))
    return (
        f"run '{run.id}' is complete ({reason}); to train it further give a larger "
        f"--max-timesteps, a higher --set reward_threshold=X, or {goals}"
    )


def resumed_group(args: TrainArgs) -> RunGroup | None:
    """Return the group that is to be gone on with; None where it is a run, or nothing."""
    return None if args.resume is None else find_group(args.resume, Path(args.runs_dir))
