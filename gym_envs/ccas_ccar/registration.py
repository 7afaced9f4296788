"""Makes `CcasCcar-v0` known to Gymnasium."""

from __future__ import annotations

import gymnasium as gym

from gym_envs.ccas_ccar.task import ENV_ID, MAX_EPISODE_STEPS


def register() -> None:
    """Register the id, alone and as a vector environment; further calls change nothing."""
    if ENV_ID not in gym.registry:
        gym.register(
            ENV_ID,
            entry_point="gym_envs.ccas_ccar.env:CcasCcarEnv",
            vector_entry_point="gym_envs.ccas_ccar.vector_env:CcasCcarVectorEnv",
            max_episode_steps=MAX_EPISODE_STEPS,
        )
