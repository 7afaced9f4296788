"""Optimisers by name, and one checked optimiser step."""

from utils.optimization.factory import build_optimizer, set_learning_rate
from utils.optimization.laprop import mark_stacked
from utils.optimization.step import GradientGroups, clip_and_step, set_gradients

__all__ = [
    "GradientGroups",
    "build_optimizer",
    "clip_and_step",
    "mark_stacked",
    "set_gradients",
    "set_learning_rate",
]
