"""Choosing actions by looking ahead: what plans knows a callable, neither a model nor an agent."""

from utils.planning.cem import plan_by_elites
from utils.planning.plan import Bounds, Evaluate, Plan, bounds_of, first_plan, shift_plan

__all__ = [
    "Bounds",
    "Evaluate",
    "Plan",
    "bounds_of",
    "first_plan",
    "plan_by_elites",
    "shift_plan",
]
