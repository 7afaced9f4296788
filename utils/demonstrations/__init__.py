"""Demonstrations: episodes that others played, as arrays to learn from, from files and to files."""

from utils.demonstrations.episodes import Demonstrations, Episode, join_episodes
from utils.demonstrations.load import load_demonstrations
from utils.demonstrations.windows import Window, Windows, split_episodes

__all__ = [
    "Demonstrations",
    "Episode",
    "Window",
    "Windows",
    "join_episodes",
    "load_demonstrations",
    "split_episodes",
]
