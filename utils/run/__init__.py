"""The folder of one training run, and the folder of all runs."""

from utils.run.registry import list_runs, split_reference
from utils.run.run import Run

__all__ = ["Run", "list_runs", "split_reference"]
