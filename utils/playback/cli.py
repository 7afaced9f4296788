"""The command line of `run_play.py`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from utils.config.option_parser import OptionParser, positive_number, whole_number
from utils.errors import UserError
from utils.run.options import NEWEST, add_action_options, add_run_options, add_runs_dir_option

_EPISODES = 5
_LARGEST_GRID = 64
_SLOWEST, _FASTEST = 0.1, 1000.0  # what a film can hold, of pictures a second and of speed

RenderChoice = Literal["auto", "window", "video", "terminal", "none"]

_EPILOG = """\
examples:
  run_play.py                                    the best policy of the newest run, five episodes
  run_play.py --run-id @last/epoch=60 --sampled  an earlier one, with sampled actions
  run_play.py --seed 7 --episodes 1              one episode again: each episode's seed is printed
  run_play.py --render terminal                  watch over a remote shell
  run_play.py --output best.mp4 --speed 2        a video at twice the speed
  run_play.py --repo ann/CartPole-v1-ppo         a policy that somebody published
  run_play.py --grid 9                           nine episodes side by side
  run_play.py --human                            play yourself, with the policy's advice
  run_play.py --record                           a video of what is shown, while it is shown

While you watch, space pauses, n shows one frame, + and - change the speed, q quits.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlayArgs:
    """What the command line of `run_play.py` asks for."""

    run: str
    """The run: `@last`, an id, the beginning of one, or a path; a checkpoint may follow a slash."""
    checkpoint: str | None
    """`@best`, `@last`, `epoch=XX` or a file; None for what `run` says, or the best."""
    repo: str | None
    """A published policy, `<user>/<name>[@<revision>]`, instead of a run."""
    episodes: int
    """Whole episodes to play, >= 1."""
    seed: int | None
    """Seed of the first episode, >= 0; None for one that belongs to the run."""
    deterministic: bool | None
    """Most likely actions or sampled ones; None as the run evaluates."""
    render: RenderChoice
    output: Path | None
    """The video file; None for one in the run's folder."""
    fps: float | None
    """Frames per second, > 0; None as the environment says."""
    speed: float
    """Factor on the frames per second, > 0."""
    max_steps: int | None
    """Steps after which an episode is cut, >= 1; None for no such limit."""
    human: bool
    """A person plays."""
    grid: int | None
    """Episodes side by side, >= 2; None for one after the other."""
    records: bool
    """What is shown is recorded while it is shown."""
    record_to: Path | None
    """The file of the recording; None for one in the run's folder."""
    runs_dir: Path


def parse_play_args(argv: Sequence[str] | None = None) -> PlayArgs:
    """Read the command line of `run_play.py`.

    Args:
        argv: The arguments; None for those of the process.

    Raises:
        UserError: An option is unknown (the nearest is named), has a wrong value or contradicts
            another; one line per problem.
        SystemExit: --help was asked for and printed.
    """
    parser = _build_parser()
    given, unknown = parser.read(argv)
    if problems := unknown or [*_contradictions(given), *parser.faults]:
        raise UserError("\n".join(problems))
    render = "video" if given.output is not None else given.render
    return PlayArgs(
        run=given.run_id,
        checkpoint=given.checkpoint,
        repo=given.repo,
        episodes=given.episodes or given.grid or _EPISODES,
        seed=given.seed,
        deterministic=given.deterministic,
        render=render,
        output=given.output,
        fps=given.fps,
        speed=given.speed or 1.0,
        max_steps=given.max_steps,
        human=given.human,
        grid=given.grid,
        records=given.record is not None,
        record_to=Path(given.record) if given.record else None,
        runs_dir=given.runs_dir,
    )


def _build_parser() -> OptionParser:
    parser = OptionParser(
        prog="run_play.py",
        description="Watch a trained policy and measure its return.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_run_options(parser)
    parser.add_option(
        "--repo",
        metavar="USER/NAME",
        help="a policy from the Hugging Face Hub instead of a run; @REVISION may follow",
    )
    parser.add_option(
        "--episodes",
        type=whole_number(least=1),
        metavar="N",
        help=f"whole episodes to play (default {_EPISODES}; with --grid as many as it shows)",
    )
    add_action_options(parser)
    parser.add_option(
        "--render",
        choices=["auto", "window", "video", "terminal", "none"],
        default="auto",
        help="auto: a window where there is a display, else a video file",
    )
    parser.add_option(
        "--human",
        action="store_true",
        help="play yourself, in the window or the terminal; the policy's choice is shown beside",
    )
    parser.add_option(
        "--grid",
        type=whole_number(least=2),
        metavar="N",
        help=f"N episodes side by side, up to {_LARGEST_GRID}",
    )
    parser.add_option(
        "--record",
        nargs="?",
        const="",
        metavar="FILE",
        help="record what the window or the terminal shows to an .mp4 (default: among the videos "
        "of the run)",
    )
    parser.add_option("--output", type=Path, metavar="FILE", help="the video file, an .mp4")
    parser.add_option(
        "--fps",
        type=positive_number,
        metavar="X",
        help="frames per second instead of the environment's",
    )
    parser.add_option(
        "--speed", type=positive_number, metavar="X", help="2 is twice as fast, 0.5 half"
    )
    parser.add_option(
        "--max-steps", type=whole_number(least=1), metavar="N", help="cut episodes that are longer"
    )
    add_runs_dir_option(parser)
    return parser


def _contradictions(given: argparse.Namespace) -> list[str]:
    problems = []
    if given.repo is not None:
        instead = {
            "--run-id": given.run_id != NEWEST,
            "--checkpoint": given.checkpoint is not None,
        }
        problems += [
            f"{name} has no effect with --repo" for name, is_given in instead.items() if is_given
        ]
    if given.output is not None:
        problems += _faults_of_file("--output", given.output)
        if given.render not in ("auto", "video"):
            problems.append(f"--output has no effect with --render {given.render}")
    if given.record:
        problems += _faults_of_file("--record", Path(given.record))
    for name in ("fps", "speed"):
        value = getattr(given, name)
        if value is not None and not _SLOWEST <= value <= _FASTEST:
            problems.append(f"--{name} {value:g}: must be from {_SLOWEST:g} to {_FASTEST:g}")
    if given.render == "none":
        problems += [
            f"--{name} has no effect with --render none"
            for name in ("fps", "speed")
            if getattr(given, name) is not None
        ]
    is_seen = given.output is None and given.render not in ("video", "none")
    instead = f"--render {given.render}" if given.output is None else "--output"
    if given.human and not is_seen:
        problems.append(f"--human needs a window or a terminal to play in, not {instead}")
    if given.record is not None and not is_seen:
        file = "; name the video by --output" if given.render != "none" else ""
        problems.append(f"--record needs a window or a terminal to record, not {instead}{file}")
    return problems + _faults_of_grid(given)


def _faults_of_grid(given: argparse.Namespace) -> list[str]:
    grid = given.grid
    if grid is None:
        return []
    problems = []
    if given.human:
        problems.append("--human plays one episode at a time: leave out --grid")
    if given.render == "none":
        problems.append("--grid has no effect with --render none")
    if grid > _LARGEST_GRID:
        problems.append(f"--grid {grid}: at most {_LARGEST_GRID} episodes fit side by side")
    elif given.episodes is not None and given.episodes % grid:
        problems.append(
            f"--episodes {given.episodes}: with --grid {grid} a multiple of {grid} is played"
        )
    return problems


def _faults_of_file(option: str, path: Path) -> list[str]:
    if path.suffix.lower() != ".mp4":
        return [f"{option} {path}: a video is an .mp4 file"]
    if path.is_dir():
        return [f"{option} {path}: that is a folder"]
    if not path.parent.is_dir():
        return [f"{option} {path}: there is no folder '{path.parent}'"]
    return []
