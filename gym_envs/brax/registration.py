"""The ids of Brax: `brax/<name>`, such as `brax/inverted_pendulum`."""

from __future__ import annotations

import gymnasium as gym

NAMESPACE = "brax"
NAMES = (
    "ant",
    "halfcheetah",
    "hopper",
    "humanoid",
    "humanoidstandup",
    "inverted_double_pendulum",
    "inverted_pendulum",
    "pusher",
    "reacher",
    "swimmer",
    "walker2d",
)
EPISODE_STEPS = 1000
"""What Brax's own trainings cut episodes at."""


def register() -> None:
    """Register every environment; may be called again, and imports nothing of Brax."""
    for name in NAMES:
        env_id = f"{NAMESPACE}/{name}"
        if env_id not in gym.registry:
            gym.register(
                env_id,
                entry_point="gym_envs.brax.env:BraxEnv",
                max_episode_steps=EPISODE_STEPS,
                kwargs={"name": name},
            )
