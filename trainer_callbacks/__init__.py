"""What happens around training: metrics, evaluation, saving, stopping; one callback per file.

Callbacks act in the order of the trainer's list. These depend on it: HyperparameterScheduler,
WarmupEval, RunControl, VideoLogger, TrackResults, DispatchMetrics, MonitorMetrics, EarlyStopping,
ModelCheckpoint.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_callbacks.dispatch_metrics import DispatchMetrics
    from trainer_callbacks.early_stopping import EarlyStopping
    from trainer_callbacks.hyperparameter_scheduler import HyperparameterScheduler
    from trainer_callbacks.model_checkpoint import ModelCheckpoint
    from trainer_callbacks.monitor_metrics import MonitorMetrics
    from trainer_callbacks.run_control import RunControl
    from trainer_callbacks.track_results import TrackResults
    from trainer_callbacks.video_logger import VideoLogger
    from trainer_callbacks.warmup_eval import WarmupEval

__all__ = [
    "DispatchMetrics",
    "EarlyStopping",
    "HyperparameterScheduler",
    "ModelCheckpoint",
    "MonitorMetrics",
    "RunControl",
    "TrackResults",
    "VideoLogger",
    "WarmupEval",
]

_MODULES = {
    "DispatchMetrics": "dispatch_metrics",
    "EarlyStopping": "early_stopping",
    "HyperparameterScheduler": "hyperparameter_scheduler",
    "ModelCheckpoint": "model_checkpoint",
    "MonitorMetrics": "monitor_metrics",
    "RunControl": "run_control",
    "TrackResults": "track_results",
    "VideoLogger": "video_logger",
    "WarmupEval": "warmup_eval",
}


def __getattr__(name: str) -> Any:
    """Import a callback when it is first asked for: each of them imports Lightning."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
