"""Wrappers that a config may name under `env_wrappers`, one folder each, and their registry."""

from gym_wrappers.registry import EnvWrapperRegistry

__all__ = ["EnvWrapperRegistry"]
