"""Plays episodes of a trained policy and shows them: window, video file, terminal.

The command line and the plan import nothing heavy and are named here; everything else is imported
by its module once torch and the environment are needed.
"""

from utils.playback.cli import PlayArgs, parse_play_args
from utils.playback.plan import PlayPlan, plan_play

__all__ = ["PlayArgs", "PlayPlan", "parse_play_args", "plan_play"]
