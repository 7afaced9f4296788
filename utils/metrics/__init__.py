"""Collects the numbers of an epoch, reduces them once, and watches them for trouble."""

from utils.metrics.counters import Counters
from utils.metrics.monitor import Alert, MetricsMonitor
from utils.metrics.recorder import MetricsRecorder

__all__ = ["Alert", "Counters", "MetricsMonitor", "MetricsRecorder"]
