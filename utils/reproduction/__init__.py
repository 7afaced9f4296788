"""Trains the configs of the results page over several seeds and writes the page."""

from utils.reproduction.entries import ENTRIES, Entry, Published, select_entries
from utils.reproduction.runner import Job, find_result, run_jobs
from utils.reproduction.summary import Summary, summarize

__all__ = [
    "ENTRIES",
    "Entry",
    "Job",
    "Published",
    "Summary",
    "find_result",
    "run_jobs",
    "select_entries",
    "summarize",
]
