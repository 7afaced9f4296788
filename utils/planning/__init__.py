"""Planners: they look for actions that a given function values highly, and know no model."""

from utils.planning.cem import plan

__all__ = ["plan"]
