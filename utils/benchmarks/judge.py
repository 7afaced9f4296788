"""The judge of the peers: greedy mean return over fresh episodes of CartPole."""

from __future__ import annotations

from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

ENV_ID = "CartPole-v1"


class Model(Protocol):
    """What Stable-Baselines3 and its kin can do."""

    def predict(self, observation: np.ndarray, *, deterministic: bool) -> tuple[np.ndarray, Any]:
        """Choose actions for observations (N, ...)."""
        ...


def build_fast_cartpole(n_envs: int) -> VectorEnv:
    """Build Gymnasium's own array CartPole: the cheapest fair judge that a person would take."""
    return gym.make_vec(ENV_ID, n_envs, vectorization_mode="vector_entry_point")


def greedy_mean(model: Model, env: VectorEnv, *, seed: int) -> float:
    """Play the first episode of every environment with greedy actions; returns the mean return."""
    observation, _ = env.reset(seed=seed)
    returns = np.zeros(env.num_envs)
    is_running = np.ones(env.num_envs, dtype=bool)
    while is_running.any():
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, _ = env.step(action)
        returns += reward * is_running
        is_running &= ~(terminated | truncated)
    return float(returns.mean())
