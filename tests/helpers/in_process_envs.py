"""Vector envs in this process out of test environments, and what to do with them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from utils.vector_envs import InProcessVectorEnv


def make(env_class: type, n_envs: int = 1, **kwargs: Any) -> InProcessVectorEnv:
    """Build so many environments of one class."""
    return InProcessVectorEnv([lambda: env_class(**kwargs)] * n_envs, env_id=env_class.__name__)


def make_registered(env_id: str, n_envs: int) -> InProcessVectorEnv:
    """Build so many of Gymnasium's environments."""
    factory = lambda: gym.make(env_id, disable_env_checker=True)  # noqa: E731
    return InProcessVectorEnv([factory] * n_envs, env_id=env_id)


def zeros(env: Any) -> np.ndarray:
    """Return the action 0 for every environment."""
    return np.zeros(env.action_space.shape, env.single_action_space.dtype)


def play_lives(env: InProcessVectorEnv, n: int) -> tuple[int, list[bool]]:
    """Take n steps; return the count of terminations and, by step, whether the game is over."""
    n_terminations, over = 0, []
    for _ in range(n):
        _, _, terminated, _, infos = env.step(zeros(env))
        n_terminations += int(terminated[0])
        over.append(bool(infos["episode_over"][0]))
    return n_terminations, over
