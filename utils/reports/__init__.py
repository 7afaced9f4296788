"""Writes the report of a finished run: results, curves, settings, alerts, machine."""

from utils.reports.report import write_report
from utils.reports.summary import summarize_run

__all__ = ["summarize_run", "write_report"]
