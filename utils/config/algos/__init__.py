"""The settings of each algorithm, and the table of all of them."""

from utils.config.algos.ppo import PPOConfig
from utils.config.algos.reinforce import REINFORCEConfig
from utils.config.schema import Config

CONFIG_CLASSES: dict[str, type[Config]] = {"ppo": PPOConfig, "reinforce": REINFORCEConfig}

__all__ = ["CONFIG_CLASSES", "PPOConfig", "REINFORCEConfig"]
