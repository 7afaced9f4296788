"""Index-collate loaders: a batch is picked from a buffer by a table of indices."""

from utils.dataloaders.data_source import DataSource, HookBatch
from utils.dataloaders.device_source import DeviceSource
from utils.dataloaders.index_collate import UpdateBatch, build_update_loader
from utils.dataloaders.multipass_sampler import MultiPassSampler
from utils.dataloaders.rollout_source import RolloutSource

__all__ = [
    "DataSource",
    "DeviceSource",
    "HookBatch",
    "MultiPassSampler",
    "RolloutSource",
    "UpdateBatch",
    "build_update_loader",
]
