"""The command line of `run_publish.py`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.config.option_parser import OptionParser, whole_number
from utils.errors import UserError
from utils.publishing.names import check_repo_id
from utils.run.options import add_action_options, add_run_options, add_runs_dir_option

_EPILOG = """\
examples:
  run_publish.py --dry-run    write and list what would be published
  run_publish.py              the best policy of the newest run, as <you>/<env>-<algo>
  run_publish.py --run-id 20261128 --repo-id me/lander --private --onnx
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishArgs:
    """What the command line of `run_publish.py` asks for."""

    run: str
    """The run: `@last`, an id, the beginning of one, or a path; a checkpoint may follow a slash."""
    checkpoint: str | None
    """`@best`, `@last`, `epoch=XX` or a file; None for what `run` says, or the best."""
    repo_id: str | None
    """`<user or organisation>/<name>`; None for `<user>/<env>-<algo>`."""
    is_private: bool
    """Make the repository private; one that is public is refused."""
    has_onnx: bool
    has_video: bool
    is_dry_run: bool
    output: Path | None
    """The folder of a dry run; None for one in the run's folder."""
    episodes: int
    """Fresh episodes that judge the policy, >= 2."""
    seed: int | None
    """Seed of the first of them, >= 0; None for one that belongs to the run."""
    deterministic: bool | None
    """Most likely actions or sampled ones; None as the run evaluates."""
    max_steps: int | None
    """Steps within which every episode must end, >= 1."""
    runs_dir: Path


def parse_publish_args(argv: Sequence[str] | None = None) -> PublishArgs:
    """Read the command line of `run_publish.py`.

    Args:
        argv: The arguments; None for those of the process.

    Raises:
        UserError: An option is unknown (the nearest is named), has a wrong value or contradicts
            another; one line per problem.
        SystemExit: --help was asked for and printed.
    """
    parser = _build_parser()
    given, unknown = parser.read(argv)
    if problems := [*unknown, *_contradictions(given), *parser.faults]:
        raise UserError("\n".join(problems))
    return PublishArgs(
        run=given.run_id,
        checkpoint=given.checkpoint,
        repo_id=given.repo_id,
        is_private=given.private,
        has_onnx=given.onnx,
        has_video=not given.no_video,
        is_dry_run=given.dry_run,
        output=given.output,
        episodes=given.episodes,
        seed=given.seed,
        deterministic=given.deterministic,
        max_steps=given.max_steps,
        runs_dir=given.runs_dir,
    )


def _build_parser() -> OptionParser:
    parser = OptionParser(
        prog="run_publish.py",
        description=(
            "Publish a trained policy on the Hugging Face Hub: weights, config, results over "
            "fresh episodes, a film, a model card. Log in once with `hf auth login`."
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_run_options(parser)
    parser.add_option(
        "--repo-id", metavar="USER/NAME", help="the repository (default <you>/<env>-<algo>)"
    )
    parser.add_option(
        "--private", action="store_true", help="make a private repository, or insist on one"
    )
    parser.add_option("--onnx", action="store_true", help="add model.onnx (extra `onnx`)")
    parser.add_option(
        "--no-video", action="store_true", help="publish no film; the card says that there is none"
    )
    parser.add_option(
        "--dry-run",
        action="store_true",
        help="write the folder and list its files; nothing is sent, no login is needed",
    )
    parser.add_option(
        "--output", type=Path, metavar="DIR", help="the folder of a dry run (default in the run's)"
    )
    _add_episode_options(parser)
    add_runs_dir_option(parser)
    return parser


def _add_episode_options(parser: OptionParser) -> None:
    parser.add_option(
        "--episodes",
        type=whole_number(least=2),
        default=20,
        metavar="N",
        help="fresh episodes that judge the policy (default 20)",
    )
    add_action_options(parser)
    parser.add_option(
        "--max-steps",
        type=whole_number(least=1),
        metavar="N",
        help="steps within which every episode must end",
    )


def _contradictions(given: argparse.Namespace) -> list[str]:
    problems = []
    if given.repo_id is not None:
        problems += check_repo_id(given.repo_id, option="--repo-id")
    if given.output is not None:
        if not given.dry_run:
            problems.append("--output has no effect without --dry-run")
        elif not given.output.absolute().parent.is_dir():
            problems.append(f"--output {given.output}: there is no folder '{given.output.parent}'")
    return problems
