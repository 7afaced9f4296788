"""A run folder as a training leaves it, without a training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from utils.loggers import JsonlWriter
from utils.run import Run

STEPS = 100
BUDGET = 10_000


class WatchedRun:
    """Writes rows like the training of a run of 100 epochs of 100 timesteps."""

    def __init__(self, runs_dir: Path, config_id: str = "Fake-v0:ppo", **config: Any) -> None:
        """Make the folder; its status is running, of this process.

        Args:
            runs_dir: Folder of the runs.
            config_id: What it trains.
            config: Settings besides.
        """
        settings = {"config_id": config_id, "max_timesteps": BUDGET} | config
        self.run = Run.create(runs_dir, config_id=config_id, config_dict=settings)
        self.run.write_status("running")
        self.epoch = 0
        self.epoch_seconds = 1.0
        self._elapsed = 0.0
        self._writer = JsonlWriter(self.run.metrics_jsonl)

    def row(self, **values: float) -> None:
        """End an epoch, which took `epoch_seconds`; keys have `__` for `/`."""
        self.epoch += 1
        self._elapsed += self.epoch_seconds
        row = {key.replace("__", "/"): value for key, value in values.items()}
        row["train/time/elapsed_seconds"] = self._elapsed
        self._writer.write(row, epoch=self.epoch, timesteps=self.epoch * STEPS)

    def rows(self, n: int) -> None:
        """End some epochs in which the return grows by one and the loss falls."""
        for _ in range(n):
            loss = 1.0 / (self.epoch + 1)
            self.row(train__roll__ep_rew_mean=float(self.epoch), train__loss__value=loss)

    def resume_from(self, epoch: int) -> None:
        """Remove later rows as a resumed training does."""
        self._writer.truncate_after(epoch)
        self.epoch = epoch

    def alert(self, **changes: Any) -> None:
        """Raise an alert in this epoch."""
        alert = {
            "epoch": self.epoch,
            "timesteps": self.epoch * STEPS,
            "key": "train/ppo/approx_kl",
            "value": 0.0812,
            "bound": "above 0.05",
            "message": "the policy changes too much in one update",
            "causes": ["policy_lr too high"],
            "fixes": ["lower policy_lr"],
        }
        with self.run.alerts_jsonl.open("a") as file:
            file.write(json.dumps(alert | changes) + "\n")

    def die(self) -> None:
        """Make the process that trains look as if it were gone."""
        status = json.loads(self.run.status_path.read_text())
        status["pid_started_ticks"] = 1
        self.run.status_path.write_text(json.dumps(status))
