"""The callbacks of a run, in the order in which they act at the end of an epoch."""

from __future__ import annotations

import logging
from typing import Any

from lightning.pytorch import Callback

from trainer_callbacks.debug_probe import DebugProbe
from trainer_callbacks.dispatch_metrics import DispatchMetrics
from trainer_callbacks.early_stopping import EarlyStopping
from trainer_callbacks.hyperparameter_scheduler import HyperparameterScheduler
from trainer_callbacks.model_checkpoint import ModelCheckpoint
from trainer_callbacks.monitor_metrics import MonitorMetrics
from trainer_callbacks.run_control import RunControl, Tell
from trainer_callbacks.show_progress import ShowProgress
from trainer_callbacks.track_results import TrackResults
from trainer_callbacks.video_logger import VideoLogger
from trainer_callbacks.warmup_eval import WarmupEval
from utils.errors import UserError
from utils.keyboard import Keyboard
from utils.loggers import (
    ConsoleHandler,
    ConsoleWriter,
    CsvWriter,
    JsonlWriter,
    LogWriter,
    Past,
    TensorBoardWriter,
    Title,
    Tracker,
    TrackioWriter,
    WandbWriter,
    read_jsonl,
)
from utils.run import Run


def build_console(
    config: Any, run: Run, *, solved_threshold: float | None, stop_threshold: float | None
) -> ConsoleWriter:
    """Build the console of a run, and let the messages of the program go through it.

    Args:
        config: Frozen config.
        run: The run, to name it.
        solved_threshold: Raw mean return at which the task counts as solved, if known.
        stop_threshold: Raw mean return at which the run stops early; None where it does not.
    """
    console = ConsoleWriter(
        title=Title(config.config_id, run.id, solved_threshold, stop_threshold),
        max_timesteps=config.max_timesteps,
        phases=config.phase_specs,
        log_interval_seconds=config.log_interval_seconds,
    )
    logging.getLogger("gymnasium_solver").addHandler(ConsoleHandler(console))
    return console


def build_callbacks(
    config: Any,
    run: Run,
    *,
    reward_threshold: float | None,
    first_timestep: int,
    console: ConsoleWriter | None,
    keyboard: Keyboard | None = None,
    tell: Tell | None = None,
) -> list[Callback]:
    """Build the callbacks and the writers that a config asks for.

    Args:
        config: Frozen config.
        run: Folder that the writers write to.
        reward_threshold: Raw mean return at which early stopping stops, if known.
        first_timestep: Where the run stands: 0, or the timesteps of a resumed run.
        console: Where the metrics are shown; None to show none.
        keyboard: Where a person may ask for something; None where nobody sits.
        tell: Shows a line to that person.
    """
    writers: list[LogWriter] = [CsvWriter(run.metrics_csv), JsonlWriter(run.metrics_jsonl)]
    if console is not None:
        writers.append(console)
    trackers = build_trackers(config, run, first_timestep=first_timestep)
    writers += trackers
    checkpoint = ModelCheckpoint()
    probe = [DebugProbe(run.path)] if config.debug else []
    callbacks = [
        *probe,
        HyperparameterScheduler(),
        WarmupEval(reward_threshold=reward_threshold),
        RunControl(checkpoint, keyboard=keyboard, tell=tell),
        VideoLogger(trackers),
        TrackResults(trackers),
        *([] if console is None else [ShowProgress(console)]),
        DispatchMetrics(writers),
        MonitorMetrics([*trackers, *([] if console is None else [console])]),
        EarlyStopping(reward_threshold=reward_threshold),
        checkpoint,
    ]
    return [callback for callback in callbacks if _has_work(callback, config)]


def build_trackers(config: Any, run: Run, *, first_timestep: int = 0) -> list[Tracker]:
    """Build the trackers that a config asks for; any of them may be used together.

    Args:
        config: Frozen config.
        run: The run that they show.
        first_timestep: Where the run stands: 0, or the timesteps of a resumed run.

    Raises:
        UserError: One of them is not installed or cannot start; those before it are closed.
    """
    trackers: list[Tracker] = []
    config_dict = config.to_dict()
    past = None
    if first_timestep:
        past = Past(
            rows=read_jsonl(run.metrics_jsonl),
            timesteps=first_timestep,
            videos_dir=run.videos_dir,
        )
    try:
        if config.tensorboard:
            folder = run.path / "tensorboard"
            trackers.append(
                TensorBoardWriter(folder, config_dict=config_dict, first_timestep=first_timestep)
            )
        if config.trackio:
            project = config.trackio_project
            trackers.append(
                TrackioWriter(project=project, run_id=run.id, config_dict=config_dict, past=past)
            )
        if config.wandb:
            project = config.wandb_project
            trackers.append(
                WandbWriter(
                    project=project,
                    run_id=run.id,
                    run_dir=run.path,
                    config_dict=config_dict,
                    past=past,
                )
            )
    except UserError:
        for tracker in trackers:
            tracker.close()
        raise
    return trackers


def _has_work(callback: Callback, config: Any) -> bool:
    if isinstance(callback, TrackResults):
        return bool(config.tensorboard or config.trackio or config.wandb)
    if isinstance(callback, VideoLogger):
        return config.video == "last" or (config.video != "none" and config.evaluates)
    return config.evaluates or not isinstance(callback, WarmupEval)
