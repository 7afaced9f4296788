"""One call of train.py with several seeds: make or reopen the group, train, tell the result."""

from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path

from utils.config import Config, config_from_dict
from utils.config.cli import TrainArgs
from utils.errors import ConfigError, RunFailedError, UserError
from utils.jobs import JobPool, usable_cores
from utils.run import RunGroup
from utils.run.lock import RunLock
from utils.run.plan import plan_training, resumed_group
from utils.seed_groups.members import Member, State, list_members
from utils.seed_groups.report import runs_dir_option, tell_result
from utils.seed_groups.view import GroupView


def run_seeds(args: TrainArgs) -> int:
    """Train the seeds of a group that have not come to their end.

    Args:
        args: With `seeds`, or with `resume` naming a group.

    Returns:
        Exit code: 0 all seeds are complete, 130 interrupted.

    Raises:
        UserError: A mistake in what is asked, before anything is made.
        RunFailedError: Seeds have failed; the others are complete.
    """
    group = resumed_group(args)
    if group is None:
        group = _begin(args)
    else:
        _check_resumable(args, group)
    with RunLock(group.path):
        return _work(group, args)


def _begin(args: TrainArgs) -> RunGroup:
    assert args.seeds is not None
    if args.resume is not None:
        raise ConfigError(
            f"--resume {args.resume}: there is no such group of seeds in "
            f"'{args.runs_dir}/groups'; leave --seeds out to resume a run"
        )
    plan = plan_training(args)  # all mistakes of the person are told here
    seeds = args.seeds.resolve(plan.config.seed)
    if len(args.seeds.listed) == 1 and seeds[0] > 1:
        n = seeds[0]
        print(f"note: --seeds {n} is seed {n} alone; {n} seeds are --seeds {n}x", file=sys.stderr)
    return RunGroup.create(
        Path(args.runs_dir), config=plan.config.to_dict(), seeds=seeds, arguments=args.arguments
    )


def _check_resumable(args: TrainArgs, group: RunGroup) -> None:
    if args.config_id is not None or args.overrides or args.init_from_run is not None:
        raise ConfigError(
            f"--resume {group.id}: a group goes on with its own settings; leave config id and "
            "settings out (--seeds adds seeds)"
        )
    if args.seeds is not None:
        record = group.read_record()
        config = config_from_dict(record["config"], source=str(group.path))
        asked = args.seeds.resolve(config.seed)
        seeds = list(dict.fromkeys([*record["seeds"], *asked]))
        group.write_record(record | {"seeds": seeds})


def _work(group: RunGroup, args: TrainArgs) -> int:
    record = group.read_record()
    config = config_from_dict(record["config"], source=str(group.path))
    members = list_members(group, record)
    to_train = [member for member in members if member.state is not State.COMPLETED]
    _check_same_config(record, args, config, to_train)
    n_jobs = args.n_jobs or _default_jobs(config)
    view = GroupView(group, members, config, is_quiet=args.quiet)
    view.begin(n_jobs=min(n_jobs, max(1, len(to_train))))
    pool = JobPool([member.make_job() for member in to_train], n_parallel=n_jobs)
    started = time.monotonic()
    is_interrupted = False
    try:
        pool.run(look=view.look, on_stop=view.tell_stop)
    except KeyboardInterrupt:
        is_interrupted = True
    view.end()
    for member in members:
        member.look()
    tell_result(group, members, config, seconds=time.monotonic() - started)
    return _conclude(group, members, is_interrupted=is_interrupted)


def _conclude(group: RunGroup, members: list[Member], *, is_interrupted: bool) -> int:
    way_back = f"go on with: python train.py --resume {group.id}{runs_dir_option(group)}"
    failed = [member for member in members if member.state is State.FAILED]
    if is_interrupted:
        print(f"interrupted, what was trained is saved; {way_back}", file=sys.stderr)
        return 130
    if failed:
        lines = [f"seed {member.seed} failed: {member.failure}" for member in failed]
        raise RunFailedError("\n".join([*lines, f"when that is mended, {way_back}"]))
    left = [member for member in members if member.state is not State.COMPLETED]
    if left:
        seeds = ", ".join(str(member.seed) for member in left)
        raise RunFailedError(f"stopped before their end: seeds {seeds}; {way_back}")
    return 0


def _check_same_config(
    record: dict[str, object], args: TrainArgs, config: Config, to_train: list[Member]
) -> None:
    """Refuse to begin seeds by another config than those before: files may have changed."""
    if args.resume is None or all(member.resumes for member in to_train):
        return
    from utils.config.cli import parse_train_args

    words = [str(word) for word in record["arguments"]]  # type: ignore[attr-defined]
    try:
        today = plan_training(
            dataclasses.replace(parse_train_args(words, environ={}), runs_dir=args.runs_dir)
        ).config
    except UserError as error:
        raise ConfigError(f"seeds that have not begun cannot: {error}") from error
    if today.model_copy(update={"seed": config.seed}) != config:
        raise ConfigError(
            "the settings have changed since this group began (its config file was edited); "
            "begin a new group"
        )


def _default_jobs(config: Config) -> int:
    return 1 if config.device != "cpu" else max(1, usable_cores() // config.devices)
