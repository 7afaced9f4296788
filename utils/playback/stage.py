"""Where episodes are shown: what `--render auto` comes to, and the screen for it."""

from __future__ import annotations

import importlib.util
import time
from typing import TextIO

from utils.environment.display import has_display
from utils.loggers.terminal import is_terminal
from utils.playback.cli import PlayArgs
from utils.playback.environment import RenderError, render_modes
from utils.playback.live import LiveScreen, Recorder
from utils.playback.pace import Pace
from utils.playback.plan import PlayPlan
from utils.playback.screens import NoScreen, Screen, VideoScreen
from utils.playback.terminal import TerminalDisplay
from utils.playback.terminal_keys import TerminalKeys
from utils.playback.window import WindowDisplay
from utils.video import VideoWriter


def choose_render(plan: PlayPlan, stream: TextIO) -> tuple[str, list[str]]:
    """Return "window", "video", "terminal" or "none", and notes about the choice.

    Raises:
        RenderError: The environment or this machine cannot show what was asked for.
    """
    asked = plan.args.render
    if asked == "window" and not has_display():
        raise RenderError(
            "--render window: there is no display (DISPLAY and WAYLAND_DISPLAY are not set); "
            "use --render video or --render terminal"
        )
    if asked == "terminal":
        _check_terminal(plan.args, stream)
    if asked != "auto":
        return asked, []
    needing = "--human" if plan.args.human else "--record" if plan.args.records else None
    if "rgb_array" not in render_modes(plan.config):
        if needing is not None:
            raise RenderError(f"{needing}: {plan.config.env_id} cannot be drawn")
        return "none", [f"{plan.config.env_id} cannot be drawn: numbers only"]
    if has_display() and importlib.util.find_spec("pygame") is not None:
        return "window", []
    if needing is None:
        return "video", []
    if not is_terminal(stream):
        raise RenderError(
            f"{needing}: there is neither a display nor a terminal to show the episodes on"
            + ("" if plan.args.human else "; use --render video")
        )
    _check_terminal(plan.args, stream)
    return "terminal", []


def open_screen(
    plan: PlayPlan, render: str, *, stream: TextIO, fps: float, seed: int
) -> Screen | LiveScreen:
    """Open what `choose_render` chose.

    Args:
        plan: What is played.
        render: The choice.
        stream: The terminal.
        fps: Frames per second at speed 1.
        seed: Of the first episode, for the name of a file.
    """
    args, videos = plan.args, plan.run.videos_dir
    if render == "none":
        return NoScreen()
    if render == "video":
        grid = "" if args.grid is None else f"-grid={args.grid}"
        path = args.output or videos / f"play-{plan.checkpoint_name}-seed={seed}{grid}.mp4"
        return VideoScreen(path, fps=fps * args.speed)
    recorder = None
    if args.records:
        name = f"record-{plan.checkpoint_name}-{time.strftime('%Y%m%d-%H%M%S')}.mp4"
        recorder = Recorder(VideoWriter(args.record_to or videos / name, fps=fps * args.speed))
    if render == "terminal":
        display = TerminalDisplay(stream, TerminalKeys.of_standard_input())
    else:
        display = WindowDisplay(f"{plan.config.config_id}, {plan.checkpoint_name}")
    return LiveScreen(display, Pace(fps, speed=args.speed), recorder)


def _check_terminal(args: PlayArgs, stream: TextIO) -> None:
    if not is_terminal(stream):
        instead = "use --render window" if args.human else "use --render video, or --render none"
        raise RenderError(
            f"--render terminal: the output is not a terminal; {instead}"
            + ("" if args.human else " for the numbers only")
        )
    if args.human and TerminalKeys.of_standard_input() is None:
        raise RenderError("--human: standard input is not a terminal, so no keys can be read")
