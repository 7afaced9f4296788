"""Honest summaries of a few numbers: means, aggregates of runs and comparisons, with intervals."""

from utils.statistics.aggregates import (
    interquartile_mean,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
)
from utils.statistics.bootstrap import Interval, bootstrap_interval, bootstrap_many
from utils.statistics.intervals import mean_half_width, student_t_975

__all__ = [
    "Interval",
    "bootstrap_interval",
    "bootstrap_many",
    "interquartile_mean",
    "mean_half_width",
    "optimality_gap",
    "performance_profile",
    "probability_of_improvement",
    "student_t_975",
]
