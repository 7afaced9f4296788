"""Writes the report of a finished run: results, curves, settings, alerts, machine."""

from utils.reports.report import write_report

__all__ = ["write_report"]
