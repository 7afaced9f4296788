"""Repeats each action for several steps."""
