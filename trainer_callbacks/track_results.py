"""Give the trackers the result of the run once training is over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.environment import solved_threshold
from utils.errors import CheckpointError
from utils.loggers import RunResult, Tracker
from utils.reports import summarize_run


class TrackResults(Callback):
    """Write summary and checkpoints to the trackers, or tell them that the run failed.

    It stands after VideoLogger, whose last film belongs to the run, and before DispatchMetrics,
    which closes the trackers.
    """

    def __init__(self, trackers: Sequence[Tracker]) -> None:
        """Take who is told."""
        super().__init__()
        self._trackers = list(trackers)

    @override
    def on_fit_end(self, trainer: Trainer, pl_module: Any) -> None:
        run = pl_module.run
        threshold = solved_threshold(pl_module.config, pl_module.train_env)
        summary = summarize_run(run, solved_threshold=threshold)
        if pl_module.stop_reason is not None:
            summary["stop_reason"] = pl_module.stop_reason
        result = RunResult(
            summary=summary,
            config_path=run.config_path,
            checkpoints=_checkpoints(run),
            is_interrupted=pl_module.is_interrupted,
        )
        for tracker in self._trackers:
            tracker.write_result(result)

    @override
    def on_exception(self, trainer: Trainer, pl_module: Any, exception: BaseException) -> None:
        for tracker in self._trackers:
            tracker.mark_failed()


def _checkpoints(run: Any) -> dict[str, Path]:
    found = {}
    for name in ("best", "last"):
        try:
            found[name] = run.checkpoint(f"@{name}")
        except CheckpointError:
            continue  # an interrupted run without an evaluation has no best one
    return found
