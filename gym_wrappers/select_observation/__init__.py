"""Keeps some numbers of an observation."""
