"""Builds vector envs from an id and options, or from a config."""

from utils.environment.build import build_env, build_env_from_config, build_evaluation_env
from utils.environment.threshold import resolve_reward_threshold, solved_threshold

__all__ = [
    "build_env",
    "build_env_from_config",
    "build_evaluation_env",
    "resolve_reward_threshold",
    "solved_threshold",
]
