"""Soft actor-critic: as much return as can be had while acting as randomly as possible."""
