"""Cuts episodes after a number of steps."""
