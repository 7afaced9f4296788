"""Watches a run through the files in its folder, from outside the process that trains."""

from utils.monitoring.health import Trouble, find_troubles
from utils.monitoring.run_view import RunView
from utils.monitoring.summary import summarize_run

__all__ = ["RunView", "Trouble", "find_troubles", "summarize_run"]
