"""Prints observations, to see what a learner sees."""
