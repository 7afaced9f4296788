"""Environments written as arrays: one definition of the physics, compiled for CPU and GPU."""
