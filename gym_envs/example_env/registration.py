"""Makes the id of the example known to Gymnasium."""

from __future__ import annotations

import gymnasium as gym


def register() -> None:
    """Register the id; it may be known already."""
    if "Example-v0" not in gym.registry:
        gym.register(
            "Example-v0",
            entry_point="gym_envs.example_env.env:ExampleEnv",
            max_episode_steps=50,
            reward_threshold=0.88,
        )
