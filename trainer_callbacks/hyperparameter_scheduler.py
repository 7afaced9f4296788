"""Give each epoch the hyperparameters that its schedules say."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, Trainer
from typing_extensions import override

from utils.schedules import schedule_value


class HyperparameterScheduler(Callback):
    """Fill `agent.hyperparameters` before each rollout.

    The values depend on the timesteps of the whole run and on nothing else, so a resumed run
    follows the same line as one that was never stopped.
    """

    @override
    def on_train_epoch_start(self, trainer: Trainer, pl_module: Any) -> None:
        config = pl_module.config
        timesteps = pl_module.counters.timesteps
        for name, schedule in config.hyperparameters.items():
            pl_module.hyperparameters[name] = schedule_value(
                schedule, timesteps=timesteps, max_timesteps=config.max_timesteps
            )
