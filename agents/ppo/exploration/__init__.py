"""Exploration by a bonus for what is new: its rewards, its critic and its updates beside PPO's."""

from agents.ppo.exploration.build import build_exploration
from agents.ppo.exploration.exploration import Exploration

__all__ = ["Exploration", "build_exploration"]
