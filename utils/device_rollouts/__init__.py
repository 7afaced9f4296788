"""Rollouts that never leave their device: tensors from the environment to the optimiser."""

from utils.device_rollouts.buffer import DeviceRolloutBuffer, pick_minibatches
from utils.device_rollouts.collector import (
    DeviceCollector,
    TensorActionAdapter,
    TensorEnv,
    allocate_device_buffer,
)
from utils.device_rollouts.episode_sums import EpisodeSums, EpisodeTotals, join_totals
from utils.device_rollouts.episode_window import EpisodeWindow
from utils.device_rollouts.evaluation import evaluate_on_device
from utils.device_rollouts.shuffle import shuffled_passes

__all__ = [
    "DeviceCollector",
    "DeviceRolloutBuffer",
    "EpisodeSums",
    "EpisodeTotals",
    "EpisodeWindow",
    "TensorActionAdapter",
    "TensorEnv",
    "allocate_device_buffer",
    "evaluate_on_device",
    "join_totals",
    "pick_minibatches",
    "shuffled_passes",
]
