"""The command line of `train.py`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from utils.config.option_parser import OptionParser, whole_number
from utils.config.overrides import Override, parse_override
from utils.config.problems import did_you_mean
from utils.config.seeds import Seeds, read_seeds
from utils.config.wandb_sweep import SweepTrial, is_sweep_trial, read_wandb_sweep
from utils.errors import ConfigError, UserError

RESUMABLE = (
    "max_timesteps",
    "early_stop_on_eval_reward",
    "early_stop_on_train_reward",
    "reward_threshold",
)
"""What a resumed run may be given anew: it decides when training ends, and nothing else."""
TRACKERS = ("wandb", "trackio", "tensorboard")

_EPILOG = """\
examples:
  train.py CartPole-v1:ppo                     train, with a table of metrics
  train.py CartPole-v1:ppo -q --seed 3         print the result only
  train.py CartPole-v1:ppo --set policy_lr=lin_3e-4 --set policy_kwargs.hidden_dims=[32,32]
  train.py --list-envs lunar                   environments and variants that match
  train.py --resume @last                      go on with the newest run
  train.py CartPole-v1:ppo --seeds 5x          five seeds side by side, and what they come to
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainArgs:
    """What the command line of `train.py` asks for."""

    config_id: str | None
    """`<env>:<variant>`; None only with `list_envs` or `resume`."""
    overrides: tuple[Override, ...]
    """Settings of the W&B sweep, --tracker, --set, --max-timesteps and --seed, for load_config."""
    quiet: bool
    """Print the result only."""
    list_envs: str | None
    """What to list ("" for everything); None to train."""
    resume: str | None
    """The run to go on with."""
    init_from_run: str | None
    """The run, and if wanted its checkpoint, whose weights a new run begins with."""
    like: str | None
    """The run, or the file of a config, whose settings a new run takes."""
    group: str | None
    """Label of the runs that the new one belongs to."""
    seeds: Seeds | None
    """Train so many seeds side by side, as a group; None for one run."""
    n_jobs: int | None
    """Trainings of a group at a time; None for as many as there are cores."""
    arguments: tuple[str, ...]
    """The command line without what differs from seed to seed of a group."""
    debug: bool
    """One environment in this process, and checks that cost time."""
    runs_dir: str
    """Folder of the runs."""


def parse_train_args(
    argv: Sequence[str] | None = None, *, environ: Mapping[str, str] | None = None
) -> TrainArgs:
    """Read the command line of `train.py`.

    A process that a W&B sweep agent started takes the settings of its trial, with or without
    `--wandb-sweep`.

    Args:
        argv: The arguments; None for those of the process.
        environ: The environment variables; None for those of the process.

    Returns:
        What they ask for.

    Raises:
        UserError: An option is unknown (the nearest is named), lacks its value, or contradicts
            another; one line per problem.
        SystemExit: --help was asked for and printed.
    """
    argv = sys.argv[1:] if argv is None else argv
    trial, trial_problems = _read_trial(argv, os.environ if environ is None else environ)
    if trial is not None:
        argv = trial.without_arguments(argv)
    parser = _build_parser()
    given, problems = parser.read(argv)
    if trial is not None and trial.config_id is not None:
        given.config_id = given.config_id or trial.config_id
    if not problems:
        problems = _contradictions(given)
        is_clear = not problems
        problems += parser.faults
        overrides, faults = _read_overrides(given, trial)
        problems += trial_problems + faults
        if problems and is_clear:
            problems += _config_problems(given, overrides)
    if problems:
        raise UserError("\n".join(problems))
    return TrainArgs(
        config_id=given.config_id_option or given.config_id,
        overrides=tuple(overrides),
        quiet=given.quiet,
        list_envs=given.list_envs,
        resume=given.resume,
        init_from_run=given.init_from_run,
        like=given.like,
        group=given.group,
        seeds=given.seeds,
        n_jobs=given.jobs,
        arguments=_without_group_options(argv),
        debug=given.debug,
        runs_dir=given.runs_dir,
    )


def _build_parser() -> OptionParser:
    parser = OptionParser(
        prog="train.py",
        description="Train an agent on an environment.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "config_id", nargs="?", metavar="ENV:VARIANT", help="what to train, such as CartPole-v1:ppo"
    )
    parser.add_option(
        "--config-id", dest="config_id_option", metavar="ENV:VARIANT", help="the same"
    )
    parser.add_option(
        "--max-timesteps",
        type=whole_number(least=1),
        metavar="N",
        help="environment steps in all, such as 1e5",
    )
    parser.add_option(
        "--seed", type=whole_number(least=0), metavar="N", help="seed of every random stream"
    )
    parser.add_option(
        "--devices",
        type=whole_number(least=1),
        metavar="N",
        help="processes (GPUs) of this machine that train together",
    )
    parser.add_option(
        "--num-nodes",
        type=whole_number(least=1),
        metavar="N",
        help="machines that train together, started by torchrun or srun",
    )
    parser.add_option(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change any setting; dots lead into blocks; may be repeated",
    )
    parser.add_option(
        "--tracker",
        action="append",
        type=_tracker_name,
        default=[],
        metavar="NAME",
        help=f"also write to {', '.join(TRACKERS)}; may be repeated",
    )
    parser.add_option("-q", "--quiet", action="store_true", help="no table, only the result")
    parser.add_option(
        "--list-envs",
        nargs="?",
        const="",
        metavar="FILTER",
        help="list environments and variants, and leave",
    )
    parser.add_option("--resume", metavar="RUN", help="go on with a run: @last, an id or a path")
    parser.add_option(
        "--init-from-run",
        metavar="RUN",
        help="begin with the weights of a run: RUN, RUN/@best, RUN/@last or RUN/epoch=XX",
    )
    parser.add_option(
        "--like", metavar="RUN", help="a new run with the settings of a run or of a config.json"
    )
    parser.add_option(
        "--seeds",
        type=read_seeds,
        metavar="SEEDS",
        help="1,2,3 or 1-5 or 5x: train these seeds side by side and tell what they come to",
    )
    parser.add_option(
        "--jobs",
        type=whole_number(least=1),
        metavar="N",
        help="trainings at a time with --seeds (default: one for each core; on a GPU one)",
    )
    parser.add_option("--group", metavar="NAME", help="label of runs that belong together")
    parser.add_option("--runs-dir", default="runs", metavar="DIR", help="folder of the runs")
    parser.add_option(
        "--debug",
        action="store_true",
        help="one environment in this process, checks with names and a profile",
    )
    parser.add_option(
        "--wandb-sweep", action="store_true", help="take settings from a W&B sweep agent"
    )
    return parser


def _contradictions(given: argparse.Namespace) -> list[str]:
    problems = []
    ids = {given.config_id, given.config_id_option} - {None}
    if len(ids) > 1:
        problems.append(f"two config ids: '{given.config_id}' and '{given.config_id_option}'")
    if not ids and given.list_envs is None and given.resume is None and given.like is None:
        problems.append(
            "nothing to train: name a config such as CartPole-v1:ppo (--list-envs lists them)"
        )
    if given.resume is not None and given.init_from_run is not None:
        problems.append(
            "--resume goes on with a run and --init-from-run begins a new one: choose one"
        )
    problems += _group_contradictions(given)
    if given.like is not None and ids:
        problems.append(f"--like takes the settings of a run: leave out '{ids.pop()}'")
    if given.resume is not None:
        changes = {
            "--like": given.like is not None,
            "--group": given.group is not None,
            "--seed": given.seed is not None,
            "--devices": given.devices is not None,
            "--num-nodes": given.num_nodes is not None,
            "--debug": given.debug,
            "--tracker": given.tracker,
            "--wandb-sweep": given.wandb_sweep,
        }
        problems += [
            f"{name} has no effect with --resume, which goes on with the settings of the run"
            for name, value in changes.items()
            if value
        ]
        keys = [text.partition("=")[0].strip() for text in given.set]
        problems += [
            f"--set {key} has no effect with --resume, which goes on with the settings of the run; "
            f"what ends it may change: {', '.join(RESUMABLE)}"
            for key in keys
            if key not in RESUMABLE
        ]
    return problems


def _group_contradictions(given: argparse.Namespace) -> list[str]:
    if given.seeds is None:
        # A group that is resumed may be given more jobs.
        has_effect = given.jobs is None or given.resume is not None
        return [] if has_effect else ["--jobs has no effect without --seeds"]
    without_effect = {
        "--group": given.group is not None and "which makes a group of its own",
        "--debug": given.debug and "whose trainings nobody can step through",
        "--wandb-sweep": given.wandb_sweep and "whose trials are one run each",
        "--list-envs": given.list_envs is not None and "which trains",
        "--seed": given.seed is not None and bool(given.seeds.listed) and "which lists them",
    }
    return [
        f"{name} has no effect with --seeds, {why}" for name, why in without_effect.items() if why
    ]


_OF_GROUPS = {"--seeds": 1, "--jobs": 1, "--seed": 1, "--runs-dir": 1, "-q": 0, "--quiet": 0}
"""Options that a training of a group is not given as they stand, and how many words follow."""


def _without_group_options(argv: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    words = iter(argv)
    for word in words:
        name, equals, _ = word.partition("=")
        n_words = _OF_GROUPS.get(name.replace("_", "-"))
        if n_words is None:
            kept.append(word)
        elif n_words and not equals:
            next(words, None)
    return tuple(kept)


def _tracker_name(text: str) -> str:
    if text not in TRACKERS:
        hint = did_you_mean(text, TRACKERS)
        raise argparse.ArgumentTypeError(f"unknown tracker{hint} (known: {', '.join(TRACKERS)})")
    return text


def _read_trial(
    argv: Sequence[str], environ: Mapping[str, str]
) -> tuple[SweepTrial | None, list[str]]:
    """Return the trial of a sweep agent, or what is wrong with it; nothing when resuming."""
    is_asked = "--wandb-sweep" in argv or "--wandb_sweep" in argv
    is_resuming = any(word.partition("=")[0] == "--resume" for word in argv)
    if is_resuming or not (is_asked or is_sweep_trial(environ)):
        return None, []
    try:
        return read_wandb_sweep(environ), []
    except ConfigError as error:
        return None, [str(error)]


def _read_overrides(
    given: argparse.Namespace, trial: SweepTrial | None
) -> tuple[list[Override], list[str]]:
    """Return the settings that can be read, and one line per setting that cannot."""
    overrides: list[Override] = []
    problems: list[str] = []
    if trial is not None:
        try:
            overrides += trial.overrides()
        except ConfigError as error:
            problems.append(str(error))
    names = [name for name in given.tracker if name is not None]
    overrides += [Override((name,), True, f"--tracker {name}") for name in names]
    for text in given.set:
        try:
            overrides.append(parse_override(text))
        except ConfigError as error:
            problems.append(str(error))
    if given.debug:
        overrides.append(Override(("debug",), True, "--debug"))
    for key in ("max_timesteps", "seed", "devices", "num_nodes"):
        value = getattr(given, key)
        if value is not None:
            overrides.append(Override((key,), value, f"--{key.replace('_', '-')} {value}"))
    return overrides, problems


def _config_problems(given: argparse.Namespace, overrides: Sequence[Override]) -> list[str]:
    """Return what is wrong with the config besides: everything is to be told at once."""
    config_id = given.config_id_option or given.config_id
    if config_id is None or given.resume is not None or given.list_envs is not None:
        return []
    from utils.config.loader import load_config

    try:
        load_config(config_id, overrides)
    except ConfigError as error:
        return str(error).splitlines()
    return []
