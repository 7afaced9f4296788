"""The command line of `scripts/tune.py`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.config.option_parser import OptionParser, whole_number
from utils.config.problems import did_you_mean
from utils.errors import UserError
from utils.tuning.spec import PRUNERS, SAMPLERS, TuningBudget

DEFAULT_SEEDS = 2
_EPILOG = """\
examples:
  tune.py CartPole-v1:ppo_simd --n-trials 40 --jobs 4
  tune.py Pendulum-v1:sac --max-timesteps 1e4 --set n_envs=1 --space my_space.yaml
  tune.py CartPole-v1:ppo_simd --report        what has been found so far
  tune.py CartPole-v1:ppo_simd --best          the best settings as YAML

The same command again goes on where a tuning was stopped, and --n-trials 80 lengthens it. Started
twice, on one machine or on several with one file system, the processes share the trials.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TuneArgs:
    """What the command line asks for."""

    config_id: str
    space: Path | None
    """File of the search space; None for the algorithm's own."""
    settings: tuple[str, ...]
    """`key=value`, the same in each trial."""
    n_trials: int | None
    """Trials in all; None for 40."""
    n_jobs: int
    n_seeds: int
    seed: int
    folder: Path | None
    """None for `runs/tuning/<config id>`."""
    budget: TuningBudget
    wants_report: bool
    wants_best: bool


def parse_tune_args(argv: Sequence[str] | None = None) -> TuneArgs:
    """Read the command line of `scripts/tune.py`.

    Raises:
        UserError: An option is unknown or wrong; one line per problem.
    """
    parser = _build_parser()
    given = parser.parse_or_refuse(argv)
    if given.config_id is None:
        raise UserError("name what to tune, such as CartPole-v1:ppo (train.py --list-envs)")
    if given.report and given.best:
        raise UserError("--report shows all trials and --best the best settings: choose one")
    budget = TuningBudget(
        max_timesteps=given.max_timesteps,
        n_evaluations=given.evaluations,
        pruner=given.pruner,
        sampler=given.sampler,
        metric=given.metric,
    )
    return TuneArgs(
        config_id=given.config_id,
        space=given.space,
        settings=tuple(given.set),
        n_trials=given.n_trials,
        n_jobs=given.jobs,
        n_seeds=given.seeds,
        seed=given.seed,
        folder=given.out,
        budget=budget,
        wants_report=given.report,
        wants_best=given.best,
    )


def _build_parser() -> OptionParser:
    parser = OptionParser(
        prog="tune.py",
        description="Search for good settings of a config, over a space that its algorithm has.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("config_id", nargs="?", metavar="ENV:VARIANT", help="what to tune")
    _add_search_options(parser)
    _add_trial_options(parser)
    parser.add_option("--out", type=Path, metavar="DIR", help="folder (default runs/tuning/<id>)")
    parser.add_option("--report", action="store_true", help="show what was found so far, and leave")
    parser.add_option("--best", action="store_true", help="print the best settings, and leave")
    return parser


def _add_search_options(parser: OptionParser) -> None:
    positive = whole_number(least=1)
    parser.add_option(
        "--space",
        type=Path,
        metavar="FILE",
        help="what to try (default config/tuning/<algo>.yaml, as far as the config takes it)",
    )
    parser.add_option("--n-trials", type=positive, metavar="N", help="trials in all (default 40)")
    parser.add_option(
        "--jobs",
        type=positive,
        default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
        metavar="N",
        help="trainings side by side (default: one per core)",
    )
    parser.add_option(
        "--sampler",
        type=_one_of(SAMPLERS),
        default="bayes",
        metavar="NAME",
        help="how the next trial is chosen: bayes (default) or random",
    )
    parser.add_option(
        "--pruner",
        type=_one_of(PRUNERS),
        default="hyperband",
        metavar="NAME",
        help="what stops trials that lag behind: hyperband (default), median or none",
    )
    parser.add_option(
        "--seed", type=whole_number(least=0), default=0, metavar="N", help="seed of the choices"
    )


def _add_trial_options(parser: OptionParser) -> None:
    positive = whole_number(least=1)
    parser.add_option(
        "--seeds",
        type=positive,
        default=DEFAULT_SEEDS,
        metavar="K",
        help=f"judge a trial by its mean over seeds 0 to K-1 (default {DEFAULT_SEEDS})",
    )
    parser.add_option(
        "--max-timesteps",
        type=positive,
        metavar="N",
        help="environment steps of each training (default: the config's)",
    )
    parser.add_option(
        "--evaluations",
        type=whole_number(least=2),
        default=10,
        metavar="N",
        help="evaluations of each training, by which laggards are told (default 10)",
    )
    parser.add_option(
        "--metric",
        default="val/roll/ep_rew_mean",
        metavar="KEY",
        help=(
            "what trials are judged by, large or small as config/metrics.yaml says (default "
            "val/roll/ep_rew_mean, of the last evaluation)"
        ),
    )
    parser.add_option(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of every trial; it is no parameter then; may be repeated",
    )


def _one_of(names: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            hint = did_you_mean(text, names)
            raise argparse.ArgumentTypeError(f"unknown{hint} (known: {', '.join(names)})")
        return text

    return read
