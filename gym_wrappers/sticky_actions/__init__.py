"""Repeats the last action now and then."""
