"""Searches for settings: sweeps in the form of W&B, run by processes of this machine or by W&B."""

from utils.sweeps.spec import EarlyTerminate, Metric, SweepSpec, read_sweep

__all__ = ["EarlyTerminate", "Metric", "SweepSpec", "read_sweep"]
