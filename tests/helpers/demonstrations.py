"""Small datasets of demonstrations, and agents that learn from them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from agents.imitation_agent import ImitationAgent
from tests.helpers.agents import make_agent
from utils.demonstrations.episodes import Episode
from utils.demonstrations.minari_files import write_dataset

SMALL_UNET = {"channels": [8, 16], "n_groups": 4, "kernel_size": 3, "step_dim": 8}


def write_episodes(
    dataset_id: str,
    observation_space: gym.Space,
    action_space: gym.Space,
    *,
    n_episodes: int = 4,
    length: int = 6,
    seed: int = 0,
) -> list[Episode]:
    """Write a local dataset of random episodes, and return them."""
    observation_space.seed(seed)
    action_space.seed(seed + 1)
    episodes = []
    for k in range(n_episodes):
        rows = [observation_space.sample() for _ in range(length + 1)]
        shown = (
            {key: np.stack([row[key] for row in rows]) for key in rows[0]}
            if isinstance(rows[0], dict)
            else np.stack(rows)
        )
        done = np.stack([action_space.sample() for _ in range(length)])
        episodes.append(Episode(shown, done, np.arange(length, dtype=float), k % 2 == 0, seed + k))
    write_dataset(dataset_id, episodes, observation_space, action_space, facts={})
    return episodes


def make_imitator(algo_id: str, env_id: str = "Obstacle-v0", **changes: Any) -> ImitationAgent:
    """Build an agent of a small network on 12 episodes of the obstacle's demonstrator."""
    settings: dict[str, Any] = {
        "n_envs": 1,
        "max_timesteps": 96,
        "batch_size": 8,
        "updates_per_epoch": 4,
        "dataset": "scripted",
        "dataset_episodes": 12 if env_id == "Obstacle-v0" else None,
        "val_fraction": 0.25,
    }
    if algo_id == "bc":
        settings["policy_kwargs"] = {"hidden_dims": [8]}
    else:
        settings |= {
            "policy_kwargs": SMALL_UNET,
            "horizon": 8,
            "action_horizon": 4,
            "n_train_steps": 20,
            "n_denoise_steps": 4,
            "scheduler": "ddim",
        }
    return make_agent(env_id, algo_id=algo_id, **settings | changes)  # type: ignore[return-value]
