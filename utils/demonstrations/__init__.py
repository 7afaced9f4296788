"""Demonstrations: episodes that others played, as arrays to learn from, from files and to files.

The command line and the plan of recording import nothing heavy and are named here; everything else
is imported by its module once torch is needed.
"""

from utils.demonstrations.record_cli import RecordArgs, parse_record_args
from utils.demonstrations.record_plan import RecordPlan, plan_recording

__all__ = ["RecordArgs", "RecordPlan", "parse_record_args", "plan_recording"]
