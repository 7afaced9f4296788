"""Watch networks, and measure phases, in a training with `debug`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.debugging import NetworkWatch, PhaseClock
from utils.loggers.jsonl import JsonlWriter
from utils.storage import write_bytes

FOLDER = "debug"
_PHASES = {
    "DispatchMetrics": "log",
    "MonitorMetrics": "log",
    "ModelCheckpoint": "checkpoint",
    "VideoLogger": "film",
    "RunControl": "requests",
    "EarlyStopping": "stopping",
}


class DebugProbe(Callback):
    """Check every tensor of the networks, keep statistics of each epoch, and profile the loop.

    It leaves `debug/statistics.jsonl` (a row an epoch), `debug/profile.txt` and
    `debug/trace.json` in the folder of the run. It stands first in the list of callbacks, so that
    it measures all others.
    """

    def __init__(self, folder: Path) -> None:
        """Take the folder of the run."""
        super().__init__()
        self._folder = folder / FOLDER
        self._watch: NetworkWatch | None = None
        self._clock: PhaseClock | None = None
        self._rows: JsonlWriter | None = None

    @property
    def profile_path(self) -> Path:
        """The table of phases; written when training ends."""
        return self._folder / "profile.txt"

    @override
    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        self._folder.mkdir(exist_ok=True)
        self._rows = JsonlWriter(self._folder / "statistics.jsonl")
        self._rows.truncate_after(pl_module.counters.epoch)
        is_on_gpu = pl_module.compute_device.type == "cuda"
        self._clock = PhaseClock(wait=torch.cuda.synchronize if is_on_gpu else lambda: None)
        self._watch = NetworkWatch(
            pl_module.networks_by_name(), where=lambda: _place(pl_module.counters)
        )
        for optimizer in pl_module.all_optimizers():
            self._watch.watch_optimizer(optimizer)
            self._clock.measure(optimizer, "step", "optimizer step")
        self._measure(self._clock, trainer, pl_module)

    def _measure(self, clock: PhaseClock, trainer: Any, agent: Any) -> None:
        for owner, method, name in agent.phases():
            clock.measure(owner, method, name)
        clock.measure(agent, "evaluate", "evaluate")
        for callback in trainer.callbacks:
            name = _PHASES.get(type(callback).__name__)
            if name is not None:
                clock.measure(callback, "on_train_epoch_end", name)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: Any) -> None:
        assert self._watch is not None
        assert self._rows is not None
        counters = pl_module.counters
        row = self._watch.take_statistics()
        self._rows.write(row, epoch=counters.epoch, timesteps=counters.timesteps)

    @override
    def on_train_end(self, trainer: Trainer, pl_module: Any) -> None:
        self._close()

    @override
    def on_exception(self, trainer: Trainer, pl_module: Any, exception: BaseException) -> None:
        self._close()

    def _close(self) -> None:
        """Take hooks and measurements away, and write what they have found."""
        if self._watch is None or self._clock is None:
            return
        self._watch.release()
        self._clock.release()
        if self._rows is not None:
            self._rows.close()
        write_bytes(self.profile_path, f"{self._clock.table()}\n".encode(), sync=False)
        self._clock.write_trace(self._folder / "trace.json")
        self._watch = self._clock = self._rows = None


def read_statistics(run_path: Path) -> list[dict[str, Any]]:
    """Return the statistics of a run, one row an epoch."""
    text = (run_path / FOLDER / "statistics.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _place(counters: Any) -> str:
    return f"epoch {counters.epoch + 1}, after {counters.timesteps:,} timesteps"
