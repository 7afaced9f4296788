"""What a run is told to do: YAML, sweep and command line made into one checked, frozen config."""

from utils.config.algos import (
    CONFIG_CLASSES,
    BCConfig,
    BraxConfig,
    DiffusionConfig,
    DQNConfig,
    DreamerConfig,
    ImitationConfig,
    OffPolicyConfig,
    PlanetConfig,
    PPOConfig,
    QLearningConfig,
    RandomConfig,
    REINFORCEConfig,
    ReplayConfig,
    SACConfig,
    SB3Config,
    SequenceConfig,
    TD3Config,
    TDMPCConfig,
    WorldModelConfig,
    WorldModelsConfig,
)
from utils.config.catalog import CONFIG_DIR, list_configs
from utils.config.loader import load_config
from utils.config.migrations import SCHEMA_VERSION
from utils.config.overrides import Override
from utils.config.saved import config_from_dict, load_config_json
from utils.config.schema import Config, PolicyKwargs
from utils.config.spec import RangeSpec, SpaceSpec, SpecConfig
from utils.schedules import Schedulable, ScheduleSpec

__all__ = [
    "Config",
    "PPOConfig",
    "REINFORCEConfig",
    "OffPolicyConfig",
    "ImitationConfig",
    "BCConfig",
    "BraxConfig",
    "DiffusionConfig",
    "DQNConfig",
    "DreamerConfig",
    "PlanetConfig",
    "QLearningConfig",
    "RandomConfig",
    "ReplayConfig",
    "SACConfig",
    "SB3Config",
    "SequenceConfig",
    "TD3Config",
    "TDMPCConfig",
    "WorldModelConfig",
    "WorldModelsConfig",
    "PolicyKwargs",
    "SpecConfig",
    "SpaceSpec",
    "RangeSpec",
    "Schedulable",
    "ScheduleSpec",
    "Override",
    "CONFIG_CLASSES",
    "CONFIG_DIR",
    "SCHEMA_VERSION",
    "load_config",
    "config_from_dict",
    "load_config_json",
    "list_configs",
]
