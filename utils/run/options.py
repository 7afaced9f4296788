"""Command-line options that the programs around a trained run share."""

from __future__ import annotations

from pathlib import Path

from utils.config.option_parser import OptionParser, whole_number
from utils.errors import UserError

NEWEST = "@last"
LAST_SEED = 2**31 - 1


def add_run_options(parser: OptionParser, *, is_positional: bool = False) -> None:
    """Add the run, as `run_id` (`run` where it is positional), and `--checkpoint`."""
    add_run_option(parser, is_positional=is_positional)
    parser.add_option(
        "--checkpoint", metavar="NAME", help="@best (default), @last, epoch=XX or a file"
    )


def add_run_option(parser: OptionParser, *, is_positional: bool = False) -> None:
    """Add the run, whose reference may name a checkpoint too."""
    text = (
        "@last (default), an id, the beginning of one, or a path; "
        "with /@best, /@last or /epoch=XX a checkpoint of it"
    )
    if is_positional:
        parser.add_argument("run", nargs="?", default=NEWEST, metavar="RUN", help=text)
    else:
        parser.add_option("--run-id", default=NEWEST, metavar="RUN", help=text)


def add_runs_dir_option(parser: OptionParser) -> None:
    """Add `--runs-dir`."""
    parser.add_option(
        "--runs-dir", type=Path, default=Path("runs"), metavar="DIR", help="folder of the runs"
    )


def add_action_options(parser: OptionParser) -> None:
    """Add `--seed`, and `--deterministic` and `--sampled` as `deterministic` (None for neither)."""
    parser.add_option(
        "--seed",
        type=whole_number(least=0),
        metavar="N",
        help="seed of the first episode; the next has N + 1",
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--deterministic",
        action="store_true",
        default=None,
        help="most likely actions; the default is what the run evaluates with",
    )
    choice.add_argument(
        "--sampled", dest="deterministic", action="store_false", help="sampled actions"
    )
    parser.option_names += ["--deterministic", "--sampled"]


def check_seeds(first: int | None, n_episodes: int) -> None:
    """Refuse seeds that no environment takes.

    Args:
        first: Of `--seed`; None for none.
        n_episodes: Each takes the next seed.

    Raises:
        UserError: The last one is too large.
    """
    if first is not None and first + n_episodes - 1 > LAST_SEED:
        raise UserError(f"--seed {first}: seeds end at {LAST_SEED}")
