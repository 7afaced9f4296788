"""Honest summaries of a few numbers: means, aggregates of runs and comparisons, with intervals."""

from utils.statistics.aggregates import (
    interquartile_mean,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
)
from utils.statistics.bootstrap import Interval, bootstrap_interval, bootstrap_many
from utils.statistics.intervals import mean_half_width, student_t_975
from utils.statistics.welch import Welch, holm, student_t_below, welch_test

__all__ = [
    "Interval",
    "Welch",
    "bootstrap_interval",
    "bootstrap_many",
    "holm",
    "interquartile_mean",
    "mean_half_width",
    "optimality_gap",
    "performance_profile",
    "probability_of_improvement",
    "student_t_975",
    "student_t_below",
    "welch_test",
]
