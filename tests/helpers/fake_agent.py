"""An agent without networks: what callbacks see of the real one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from utils.metrics import Counters, MetricsRecorder
from utils.rollouts.evaluation import EvaluationResult
from utils.run import Run
from utils.schedules import Schedulable


@dataclasses.dataclass(kw_only=True)
class FakeConfig:
    """The settings that callbacks read."""

    config_id: str = "Fake-v0:ppo"
    env_id: str = "Fake-v0"
    max_timesteps: int = 1000
    eval_warmup_epochs: int = 0
    eval_freq_epochs: int | None = None
    eval_freq_timesteps: int | None = None
    early_stop_on_eval_reward: bool = False
    early_stop_on_train_reward: bool = False
    checkpoint_freq_epochs: int | None = None
    checkpoint_interval_seconds: float = 1e9
    keep_checkpoints: int = 3
    hyperparameters: dict[str, Schedulable] = dataclasses.field(default_factory=dict)


class FakeAgent:
    """Counts epochs, notes evaluations and stop requests, and holds one number as its weights."""

    def __init__(self, config: FakeConfig | None = None, *, runs_dir: Path | None = None) -> None:
        self.config = config or FakeConfig()
        self.counters = Counters()
        self.recorder = MetricsRecorder()
        self.hyperparameters: dict[str, float] = {}
        self.last_row: dict[str, float] = {}
        self.evaluated_epochs: list[int] = []
        self.n_evaluations = 0
        self.n_unfinished = 0
        self.is_interrupted = False
        self.stop_reasons: list[str] = []
        self.weight = 0.0
        self.callbacks: list[Any] = []
        self.run = (
            None
            if runs_dir is None
            else Run.create(runs_dir, config_id=self.config.config_id, config_dict={})
        )

    @property
    def end_reason(self) -> str | None:
        """Say why to end."""
        is_spent = self.counters.timesteps >= self.config.max_timesteps
        return "max_timesteps reached" if is_spent else None

    def evaluate(self) -> EvaluationResult:
        """Note that an evaluation was asked for; two episodes have a mean return of 2."""
        self.evaluated_epochs.append(self.counters.epoch)
        self.n_evaluations += 1
        return EvaluationResult(
            returns=[1.0, 3.0],
            lengths=[1, 1],
            n_unfinished=self.n_unfinished,
            seconds=0.0,
            seed=0,
            is_deterministic=True,
        )

    def request_stop(self, reason: str) -> None:
        """Note why to stop."""
        self.stop_reasons.append(reason)

    def interrupt(self, reason: str) -> None:
        """Note why to stop, and that somebody asked for it."""
        self.is_interrupted = True
        self.request_stop(reason)

    def save_companions(self, checkpoint: Path) -> None:
        """Write nothing: there is nothing large."""

    def checkpoint_state(self) -> dict[str, Any]:
        """Return the weights, the counters and the callbacks' states."""
        return {
            "weight": self.weight,
            "counters": self.counters.to_dict(),
            "callbacks": {type(c).__name__: c.state_dict() for c in self.callbacks},
        }

    def load(self, state: dict[str, Any]) -> None:
        """Restore `checkpoint_state`."""
        self.weight = state["weight"]
        self.counters = Counters.from_dict(state["counters"])
        for callback in self.callbacks:
            callback.load_state_dict(state["callbacks"][type(callback).__name__])

    def start(self) -> None:
        """Begin training as Lightning does."""
        for callback in self.callbacks:
            callback.on_train_start(None, self)

    def train_epoch(self, *, n_steps: int = 100, **row: float) -> None:
        """Do one epoch of `n_steps` timesteps that records `row` (keys with `__` for `/`)."""
        for callback in self.callbacks:
            callback.on_train_epoch_start(None, self)
        self.counters.epoch += 1
        self.counters.timesteps += n_steps
        self.weight = float(self.counters.epoch)
        values = {key.replace("__", "/"): value for key, value in row.items()}
        self.recorder.record_many(values)
        self.last_row = values
        for callback in self.callbacks:
            callback.on_train_epoch_end(None, self)

    def end(self) -> None:
        """End training as Lightning does."""
        for callback in self.callbacks:
            callback.on_train_end(None, self)
        for callback in self.callbacks:
            callback.teardown(None, self, "fit")
