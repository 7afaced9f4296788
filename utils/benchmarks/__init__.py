"""Measures speed side by side with peers.

The command line and the form of a result import nothing heavy and are named here; each subject
that is measured is a module of its own.
"""

from utils.benchmarks.cli import benchmark_parser
from utils.benchmarks.contest import Contestant, Score, hold_contest, median
from utils.benchmarks.machine import describe_machine
from utils.benchmarks.peers import require_sb3
from utils.benchmarks.report import BenchmarkReport

__all__ = [
    "BenchmarkReport",
    "Contestant",
    "Score",
    "benchmark_parser",
    "describe_machine",
    "hold_contest",
    "median",
    "require_sb3",
]
