"""Demonstrations that are played on the spot, by a program that knows the way."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from utils.demonstrations.episodes import Demonstrations, Episode, join_episodes
from utils.demonstrations.rows import copy_row, stack_rows
from utils.environment import build_env_from_config
from utils.errors import ConfigError
from utils.vector_envs import BaseVectorEnv

DEMONSTRATORS = {"Obstacle-v0": "gym_envs.obstacle.demonstrator:begin_demonstration"}
"""Environment id -> who begins a demonstration in an environment that has just been reset."""

DEFAULT_EPISODES = 200
_DEMONSTRATOR = 1
"""Which of the streams of a seed is the demonstrator's."""


def play_demonstrations(config: Any, env: BaseVectorEnv, *, seed: int) -> Demonstrations:
    """Let an environment's demonstrator play.

    Args:
        config: Its environment and `dataset_episodes` (None: 200) are read.
        env: Of the config, for its spaces; it is not stepped.
        seed: The k-th episode is reset with this seed plus k.

    Raises:
        ConfigError: The environment has no demonstrator.
    """
    if config.env_id not in DEMONSTRATORS:
        known = ", ".join(sorted(DEMONSTRATORS))
        raise ConfigError(
            f"dataset: scripted, but {config.env_id} has no demonstrator (there is one for "
            f"{known}): name a Minari dataset"
        )
    module, _, name = DEMONSTRATORS[config.env_id].partition(":")
    begin = getattr(import_module(module), name)
    n_episodes = config.dataset_episodes or DEFAULT_EPISODES
    stage = build_env_from_config(config, n_envs=1, vectorization="sync", render_mode=None)
    try:
        episodes = [_play(stage, begin, seed=seed + k) for k in range(n_episodes)]
    finally:
        stage.close()
    return join_episodes(episodes, env.single_observation_space, env.single_action_space)


def _play(stage: Any, begin: Callable[..., Callable[[], np.ndarray]], *, seed: int) -> Episode:
    """Play one episode; the demonstrator looks at the environment itself, not at observations."""
    observation, _ = stage.reset(seed=seed)
    # Not the seed alone: the environment draws from that one, and the two would go hand in hand.
    act = begin(stage.envs[0].unwrapped, np.random.default_rng([seed, _DEMONSTRATOR]))
    rows, actions, rewards = [copy_row(observation, 0)], [], []
    is_over = has_terminated = False
    while not is_over:
        action = act()
        observation, reward, terminated, truncated, infos = stage.step(action[None])
        has_terminated = bool(terminated[0])
        is_over = has_terminated or bool(truncated[0])
        rows.append(copy_row(infos["final_obs"] if is_over else observation, 0))
        actions.append(action)
        rewards.append(float(infos.get("raw_reward", reward)[0]))
    return Episode(stack_rows(rows), np.stack(actions), np.array(rewards), has_terminated, seed)
