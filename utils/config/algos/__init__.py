"""The settings of each algorithm, and the table of all of them."""

from utils.config.algos.bc import BCConfig
from utils.config.algos.brax import BraxConfig
from utils.config.algos.diffusion import DiffusionConfig
from utils.config.algos.dqn import DQNConfig
from utils.config.algos.dreamer import DreamerConfig
from utils.config.algos.imitation import ImitationConfig
from utils.config.algos.off_policy import OffPolicyConfig
from utils.config.algos.planet import PlanetConfig
from utils.config.algos.ppo import PPOConfig
from utils.config.algos.q_learning import QLearningConfig
from utils.config.algos.random import RandomConfig
from utils.config.algos.reinforce import REINFORCEConfig
from utils.config.algos.replay import ReplayConfig
from utils.config.algos.sac import SACConfig
from utils.config.algos.sb3 import SB3Config
from utils.config.algos.sequence import SequenceConfig
from utils.config.algos.td3 import TD3Config
from utils.config.algos.tdmpc import TDMPCConfig
from utils.config.algos.world_model import WorldModelConfig
from utils.config.algos.world_models import WorldModelsConfig
from utils.config.schema import Config

CONFIG_CLASSES: dict[str, type[Config]] = {
    "ppo": PPOConfig,
    "reinforce": REINFORCEConfig,
    "dqn": DQNConfig,
    "q_learning": QLearningConfig,
    "random": RandomConfig,
    "sac": SACConfig,
    "sb3": SB3Config,
    "brax": BraxConfig,
    "td3": TD3Config,
    "tdmpc": TDMPCConfig,
    "dreamer": DreamerConfig,
    "planet": PlanetConfig,
    "bc": BCConfig,
    "diffusion": DiffusionConfig,
    "world_models": WorldModelsConfig,
}

__all__ = [
    "CONFIG_CLASSES",
    "BraxConfig",
    "BCConfig",
    "DQNConfig",
    "DiffusionConfig",
    "DreamerConfig",
    "ImitationConfig",
    "OffPolicyConfig",
    "PPOConfig",
    "PlanetConfig",
    "QLearningConfig",
    "REINFORCEConfig",
    "RandomConfig",
    "ReplayConfig",
    "SACConfig",
    "SB3Config",
    "SequenceConfig",
    "TD3Config",
    "TDMPCConfig",
    "WorldModelConfig",
    "WorldModelsConfig",
]
