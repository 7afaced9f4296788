"""Writes the metrics of each epoch: files, the console, and optional trackers."""

from utils.loggers.console import TOLD_BY_THE_END, ConsoleHandler, ConsoleWriter
from utils.loggers.csv import CsvWriter
from utils.loggers.jsonl import JsonlWriter, read_jsonl
from utils.loggers.log_writer import LogWriter
from utils.loggers.sparkline import sparkline
from utils.loggers.table import Title
from utils.loggers.tensorboard import TensorBoardWriter
from utils.loggers.tracker import Past, RunResult, Tracker
from utils.loggers.trackio import TrackioWriter
from utils.loggers.wandb import WandbWriter

__all__ = [
    "TOLD_BY_THE_END",
    "ConsoleHandler",
    "ConsoleWriter",
    "CsvWriter",
    "JsonlWriter",
    "LogWriter",
    "Past",
    "RunResult",
    "TensorBoardWriter",
    "Title",
    "Tracker",
    "TrackioWriter",
    "WandbWriter",
    "read_jsonl",
    "sparkline",
]
