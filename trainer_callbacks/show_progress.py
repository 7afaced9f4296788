"""Show how far an epoch has come while it runs."""

from __future__ import annotations

import threading
from typing import Any

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.loggers.console import ConsoleWriter

LOOK_SECONDS = 1.0
_LONGEST_WRITE_SECONDS = 2.0  # a terminal that is stopped takes nothing


class ShowProgress(Callback):
    """Tell the console every second where the agent stands; it shows what is new.

    A thread does it: an epoch of a large model may take minutes, one update of it seconds. It
    only reads whole numbers.
    """

    def __init__(self, console: ConsoleWriter, *, look_seconds: float = LOOK_SECONDS) -> None:
        """Take who shows it, and how often to look."""
        super().__init__()
        self._console = console
        self._look_seconds = look_seconds
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        self._console.begin(
            timesteps=pl_module.counters.timesteps, phases_done=pl_module.phases_done
        )
        self._thread = threading.Thread(
            target=self._watch, args=(pl_module,), name="progress", daemon=True
        )
        self._thread.start()

    @override
    def on_train_end(self, trainer: Trainer, pl_module: Any) -> None:
        self._stop()

    @override
    def on_exception(self, trainer: Trainer, pl_module: Any, exception: BaseException) -> None:
        self._stop()

    @override
    def teardown(self, trainer: Trainer, pl_module: Any, stage: str) -> None:
        self._stop()

    def _watch(self, agent: Any) -> None:
        while not self._is_over.wait(self._look_seconds):
            timesteps, updates = agent.counts_now()
            self._console.pulse(epoch=agent.counters.epoch, timesteps=timesteps, updates=updates)

    def _stop(self) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join(timeout=_LONGEST_WRITE_SECONDS)
