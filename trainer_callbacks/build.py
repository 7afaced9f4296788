"""The callbacks of a run, in the order in which they act at the end of an epoch."""

from __future__ import annotations

import logging
from typing import Any

from lightning.pytorch import Callback

from trainer_callbacks.dispatch_metrics import DispatchMetrics
from trainer_callbacks.early_stopping import EarlyStopping
from trainer_callbacks.hyperparameter_scheduler import HyperparameterScheduler
from trainer_callbacks.model_checkpoint import ModelCheckpoint
from trainer_callbacks.monitor_metrics import MonitorMetrics
from trainer_callbacks.video_logger import VideoLogger
from trainer_callbacks.warmup_eval import WarmupEval
from utils.loggers import (
    ConsoleHandler,
    ConsoleWriter,
    CsvWriter,
    JsonlWriter,
    LogWriter,
    TensorBoardWriter,
    WandbWriter,
)
from utils.run import Run


def build_callbacks(
    config: Any, run: Run, *, reward_threshold: float | None, first_timestep: int, is_quiet: bool
) -> list[Callback]:
    """Build the callbacks and the writers that a config asks for.

    Args:
        config: Frozen config.
        run: Folder that the writers write to.
        reward_threshold: Raw return at which the environment counts as solved, if known.
        first_timestep: Where the run stands: 0, or the timesteps of a resumed run.
        is_quiet: Show no table.
    """
    writers: list[LogWriter] = [CsvWriter(run.metrics_csv), JsonlWriter(run.metrics_jsonl)]
    sinks: list[ConsoleWriter] = []
    if not is_quiet:
        console = ConsoleWriter(
            config_id=config.config_id,
            run_id=run.id,
            max_timesteps=config.max_timesteps,
            log_interval_seconds=config.log_interval_seconds,
            reward_threshold=reward_threshold,
        )
        logging.getLogger("gymnasium_solver").addHandler(ConsoleHandler(console))
        writers.append(console)
        sinks.append(console)
    if config.tensorboard:
        writers.append(TensorBoardWriter(run.path / "tensorboard", first_timestep=first_timestep))
    if config.wandb:
        writers.append(
            WandbWriter(
                project=config.wandb_project,
                run_id=run.id,
                run_dir=run.path,
                config_dict=config.to_dict(),
            )
        )
    callbacks = [
        HyperparameterScheduler(),
        WarmupEval(),
        VideoLogger([writer for writer in writers if isinstance(writer, WandbWriter)]),
        DispatchMetrics(writers),
        MonitorMetrics(sinks),
        EarlyStopping(reward_threshold=reward_threshold),
        ModelCheckpoint(),
    ]
    return [callback for callback in callbacks if _has_work(callback, config)]


def _has_work(callback: Callback, config: Any) -> bool:
    if isinstance(callback, VideoLogger):
        return config.video == "last" or (config.video != "none" and config.evaluates)
    return config.evaluates or not isinstance(callback, WarmupEval)
