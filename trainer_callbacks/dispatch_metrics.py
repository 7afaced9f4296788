"""Once per epoch, send what was recorded to every writer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.loggers.console import ConsoleWriter
from utils.loggers.log_writer import LogWriter


class DispatchMetrics(Callback):
    """Flush the recorder at the end of each epoch into `agent.last_row` and all writers.

    It adds `train/time/elapsed_seconds` (resumed parts included) and
    `train/time/steps_per_second`. When training starts, rows beyond the agent's epoch are removed
    from the files: a resumed run computes them again.
    """

    def __init__(
        self,
        writers: Sequence[LogWriter],
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Take the writers; they are closed when fitting ends, also by an error.

        Args:
            writers: Each gets the same row.
            clock: Seconds that only go forward.
        """
        super().__init__()
        self._writers = list(writers)
        self._clock = clock
        self._elapsed_before = 0.0
        self._started = self._last_flush = clock()
        self._last_timesteps = 0

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        self._started = self._last_flush = self._clock()
        self._last_timesteps = pl_module.counters.timesteps
        for writer in self._writers:
            writer.truncate_after(pl_module.counters.epoch)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        counters = pl_module.counters
        now = self._clock()
        recorder = pl_module.recorder
        recorder.record("train/time/elapsed_seconds", self._elapsed(now))
        if now > self._last_flush:
            speed = (counters.timesteps - self._last_timesteps) / (now - self._last_flush)
            recorder.record("train/time/steps_per_second", speed)
        self._last_flush, self._last_timesteps = now, counters.timesteps
        row = pl_module.last_row = recorder.flush()
        for writer in self._writers:
            writer.write(row, epoch=counters.epoch, timesteps=counters.timesteps)

    @override
    def on_train_end(self, trainer: Trainer, pl_module: Any) -> None:
        """Leave the screen to the result; files and trackers stay open for a last film."""
        for writer in self._writers:
            if isinstance(writer, ConsoleWriter):
                writer.close()

    @override
    def on_exception(self, trainer: Trainer, pl_module: Any, exception: BaseException) -> None:
        self.close()

    @override
    def teardown(self, trainer: Trainer, pl_module: Any, stage: str) -> None:
        self.close()

    def close(self) -> None:
        """Close all writers; a second call does nothing."""
        writers, self._writers = self._writers, []
        for writer in writers:
            writer.close()

    @override
    def state_dict(self) -> dict[str, Any]:
        return {"elapsed_seconds": self._elapsed(self._last_flush)}

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._elapsed_before = state_dict["elapsed_seconds"]

    def _elapsed(self, now: float) -> float:
        return self._elapsed_before + now - self._started
