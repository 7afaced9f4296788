"""Clips each reward for the learner."""
