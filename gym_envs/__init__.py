"""Environments written as arrays: one definition of the physics, compiled for CPU and GPU."""

from gym_envs.registration import register_vector_envs

register_vector_envs()
