"""The command line of `scripts/sweep.py`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.config.option_parser import OptionParser, whole_number
from utils.config.problems import did_you_mean
from utils.errors import UserError

BACKENDS = ("local", "wandb")
_EPILOG = """\
examples:
  sweep.py config/sweeps/cartpole_ppo.yaml --n-trials 30 --jobs 2
  sweep.py config/sweeps/cartpole_ppo.yaml --report       what has been found so far
  sweep.py config/sweeps/cartpole_ppo.yaml --backend wandb --jobs 2

The same command again goes on where a sweep was stopped, and --n-trials 60 lengthens it.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepArgs:
    """What the command line asks for."""

    path: Path
    backend: str
    n_trials: int | None
    """Trials in all; None for the file's `run_cap`, the whole grid, or 20."""
    n_jobs: int
    n_seeds: int | None
    """Trainings of each trial with seeds from 0 on; None for one with the config's own seed."""
    seed: int
    folder: Path | None
    """None for `runs/sweeps/<name>`."""
    is_report_only: bool


def parse_sweep_args(argv: Sequence[str] | None = None) -> SweepArgs:
    """Read the command line of `scripts/sweep.py`.

    Raises:
        UserError: An option is unknown, wrong or without effect; one line per problem.
    """
    parser = OptionParser(
        prog="sweep.py",
        description="Search for settings, as a sweep file says, without a server or with W&B's.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("sweep", nargs="?", type=Path, metavar="SWEEP.yaml", help="what to try")
    parser.add_option(
        "--backend",
        type=_backend,
        default="local",
        metavar="NAME",
        help="local: Optuna and processes of this machine (default); wandb: W&B's server chooses",
    )
    positive = whole_number(least=1)
    parser.add_option(
        "--n-trials",
        type=positive,
        metavar="N",
        help="trials in all (default: run_cap of the file, else the whole grid, else 20)",
    )
    parser.add_option(
        "--jobs", type=positive, default=1, metavar="N", help="trainings side by side (default 1)"
    )
    parser.add_option(
        "--seeds", type=positive, metavar="K", help="judge a trial by its mean over seeds 0 to K-1"
    )
    parser.add_option(
        "--seed", type=whole_number(least=0), metavar="N", help="seed of the choices (default 0)"
    )
    parser.add_option(
        "--out", type=Path, metavar="DIR", help="folder of the sweep (default runs/sweeps/<name>)"
    )
    parser.add_option(
        "--report", action="store_true", help="show what has been found so far, and leave"
    )
    given = parser.parse_or_refuse(argv)
    if problems := _without_effect(given):
        raise UserError("\n".join(problems))
    return SweepArgs(
        path=given.sweep,
        backend=given.backend,
        n_trials=given.n_trials,
        n_jobs=given.jobs,
        n_seeds=given.seeds,
        seed=given.seed or 0,
        folder=given.out,
        is_report_only=given.report,
    )


def _without_effect(given: argparse.Namespace) -> list[str]:
    if given.sweep is None:
        return ["name a sweep file, such as config/sweeps/cartpole_ppo.yaml"]
    local = {"--seeds": given.seeds, "--seed": given.seed, "--out": given.out}
    problems = []
    if given.backend == "wandb":
        problems = [
            f"{name} has no effect with --backend wandb, whose server keeps the sweep"
            for name, value in {**local, "--report": given.report or None}.items()
            if value is not None
        ]
    return problems


def _backend(text: str) -> str:
    if text not in BACKENDS:
        hint = did_you_mean(text, BACKENDS)
        raise argparse.ArgumentTypeError(f"unknown backend{hint} (known: {', '.join(BACKENDS)})")
    return text
