"""A page in the browser that shows episodes step by step, with what the policy saw and thought.

The command line and the plan import nothing heavy and are named here; everything else is imported
by its module once Gradio, torch and the environment are needed.
"""

from utils.inspection.cli import InspectArgs, parse_inspect_args
from utils.inspection.plan import InspectPlan, plan_inspect

__all__ = ["InspectArgs", "InspectPlan", "parse_inspect_args", "plan_inspect"]
