"""Demonstrations by name: of an environment's own demonstrator, or a Minari dataset."""

from __future__ import annotations

from typing import Any

from utils.demonstrations.episodes import Demonstrations
from utils.vector_envs import BaseVectorEnv

SCRIPTED = "scripted"
"""Name of what an environment's own demonstrator plays."""


def load_demonstrations(config: Any, env: BaseVectorEnv, *, seed: int) -> Demonstrations:
    """Load what a config names, once and whole.

    Args:
        config: Its `dataset`, `dataset_episodes` and `download_dataset` are read.
        env: Of the config; its spaces are those of the demonstrations.
        seed: Of a demonstrator.

    Raises:
        MissingAssetError: There is no such dataset.
        ConfigError: It was made for other spaces.
        MissingDependencyError: A package that reads it is not installed.
    """
    if config.dataset == SCRIPTED:
        from utils.demonstrations.scripted import play_demonstrations

        return play_demonstrations(config, env, seed=seed)
    from utils.demonstrations.minari_files import read_dataset

    return read_dataset(
        config.dataset,
        env.single_observation_space,
        env.single_action_space,
        n_episodes=config.dataset_episodes,
        download=config.download_dataset,
    )
