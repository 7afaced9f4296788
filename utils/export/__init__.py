"""Writes a policy as a program of its own (ONNX, torch.export) and proves that it acts the same.

The command line and the plan import nothing heavy and are named here; everything else is imported
by its module once torch is needed.
"""

from utils.export.cli import ExportArgs, parse_export_args
from utils.export.plan import ExportPlan, plan_export

__all__ = ["ExportArgs", "ExportPlan", "parse_export_args", "plan_export"]
