"""Scales bounded observations to [-1, 1]."""
