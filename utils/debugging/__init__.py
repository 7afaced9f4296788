"""Looks into a training that goes wrong or takes long: checks with names, statistics, a profile."""

from utils.debugging.network_watch import NetworkWatch
from utils.debugging.profile import PhaseClock

__all__ = ["NetworkWatch", "PhaseClock"]
