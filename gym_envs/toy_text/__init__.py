"""Gymnasium's toy text environments, many at once: their rules are a table."""
