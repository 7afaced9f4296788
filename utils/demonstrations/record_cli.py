"""The command line of `scripts/record_dataset.py`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.config.option_parser import OptionParser, whole_number
from utils.run.options import add_run_options, add_runs_dir_option

_EPILOG = """\
examples:
  record_dataset.py @last                                   100 episodes as <env>/<algo>-<run>-v0
  record_dataset.py @last --dataset cartpole/ppo-v0 --episodes 50
  record_dataset.py 20261128/@best --dataset pendulum/sac-v0 --stochastic --seed 7

Stopped half-way, the same command goes on where it was; nothing is in the dataset's place before
all of it is recorded. Datasets lie in $MINARI_DATASETS_PATH, or in ~/.minari/datasets.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordArgs:
    """What the command line of `scripts/record_dataset.py` asks for."""

    run: str
    """The run: `@last`, an id, the beginning of one, or a path; a checkpoint may follow a slash."""
    checkpoint: str | None
    """`@best`, `@last`, `epoch=XX` or a file; None for what `run` says, or the best."""
    dataset: str | None
    """Name of the dataset; None for one made of environment, algorithm and run."""
    n_episodes: int
    seed: int
    """The k-th episode, from 0, is reset with this seed plus k, and so are sampled actions."""
    is_stochastic: bool
    """Sampled actions rather than the most likely ones."""
    is_quiet: bool
    runs_dir: Path


def parse_record_args(argv: Sequence[str] | None = None) -> RecordArgs:
    """Read the command line of `scripts/record_dataset.py`.

    Args:
        argv: The arguments; None for those of the process.

    Raises:
        UserError: An option is unknown (the nearest is named) or has a wrong value.
        SystemExit: --help was asked for and printed.
    """
    parser = OptionParser(
        prog="record_dataset.py",
        description="Play episodes with a trained policy and keep them as a Minari dataset.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_run_options(parser, is_positional=True)
    parser.add_option("--dataset", metavar="NAME", help="name, such as cartpole/ppo-v0")
    parser.add_option(
        "--episodes", type=whole_number(least=1), default=100, metavar="N", help="100 by default"
    )
    parser.add_option(
        "--seed",
        type=whole_number(least=0),
        default=0,
        metavar="N",
        help="episode k is reset with N + k (0)",
    )
    parser.add_option(
        "--stochastic", action="store_true", help="sampled actions, not the likeliest"
    )
    parser.add_option("-q", "--quiet", action="store_true", help="no progress, only the result")
    add_runs_dir_option(parser)
    given = parser.parse_or_refuse(argv)
    return RecordArgs(
        run=given.run,
        checkpoint=given.checkpoint,
        dataset=given.dataset,
        n_episodes=given.episodes,
        seed=given.seed,
        is_stochastic=given.stochastic,
        is_quiet=given.quiet,
        runs_dir=given.runs_dir,
    )
