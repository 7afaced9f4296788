"""Makes the id of the spotlight known to Gymnasium."""

from __future__ import annotations

import gymnasium as gym


def register() -> None:
    """Register the id; it may be known already."""
    if "Spotlight-v0" not in gym.registry:
        gym.register(
            "Spotlight-v0",
            entry_point="gym_envs.spotlight.env:SpotlightEnv",
            max_episode_steps=100,
            reward_threshold=75.0,
        )
