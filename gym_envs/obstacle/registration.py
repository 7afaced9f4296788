"""Makes the id of the obstacle known to Gymnasium."""

from __future__ import annotations

import gymnasium as gym


def register() -> None:
    """Register the id; it may be known already."""
    if "Obstacle-v0" not in gym.registry:
        gym.register(
            "Obstacle-v0",
            entry_point="gym_envs.obstacle.env:ObstacleEnv",
            max_episode_steps=30,
            reward_threshold=0.95,
        )
