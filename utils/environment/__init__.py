"""Builds vector envs from an id and options, or from a config."""

from utils.environment.build import build_env, build_env_from_config
from utils.environment.threshold import resolve_reward_threshold, solved_threshold

__all__ = ["build_env", "build_env_from_config", "resolve_reward_threshold", "solved_threshold"]
