"""Index-collate loaders: a batch is picked from a buffer by a table of indices."""

from utils.dataloaders.data_source import DataSource, HookBatch
from utils.dataloaders.device_source import DeviceSource
from utils.dataloaders.index_collate import UpdateBatch, build_update_loader
from utils.dataloaders.multipass_sampler import MultiPassSampler
from utils.dataloaders.replay_plan import ReplayPace, ReplayPlan, Round
from utils.dataloaders.replay_source import ReplaySource
from utils.dataloaders.rollout_source import RolloutSource

__all__ = [
    "DataSource",
    "DeviceSource",
    "HookBatch",
    "MultiPassSampler",
    "ReplayPace",
    "ReplayPlan",
    "ReplaySource",
    "RolloutSource",
    "Round",
    "UpdateBatch",
    "build_update_loader",
]
