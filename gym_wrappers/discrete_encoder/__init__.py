"""Turns discrete observations into vectors of floats."""
