"""The folder of one training run, and the folder of all runs."""

from utils.run.groups import RunGroup, find_group
from utils.run.labels import Labels, change_labels, read_labels
from utils.run.registry import list_runs, split_reference
from utils.run.run import Run

__all__ = [
    "Labels",
    "Run",
    "RunGroup",
    "change_labels",
    "find_group",
    "list_runs",
    "read_labels",
    "split_reference",
]
