"""Honest summaries of a few numbers: means of episodes and seeds with their intervals."""

from utils.statistics.intervals import mean_half_width, student_t_975

__all__ = ["mean_half_width", "student_t_975"]
