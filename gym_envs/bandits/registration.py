"""The ids of the bandits, and what each draws its problems from."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

BANDITS: dict[str, dict[str, Any]] = {
    "Bandit-Bernoulli-v0": {"rewards": "bernoulli", "n_arms": 10, "horizon": 100},
    "Bandit-Gaussian-v0": {"rewards": "gaussian", "n_arms": 10, "horizon": 100},
    "Bandit-Drifting-v0": {
        "rewards": "gaussian",
        "n_arms": 10,
        "horizon": 200,
        "drift_std": 0.1,
        "memory": 0.95,
    },
    "Bandit-Contextual-v0": {
        "rewards": "bernoulli",
        "n_arms": 5,
        "n_contexts": 3,
        "horizon": 150,
    },
}
"""Id -> arguments of `BanditEnv`; an `env_kwargs` of a config goes before them."""


def register() -> None:
    """Make the ids known to Gymnasium; they may be known already."""
    for env_id, settings in BANDITS.items():
        if env_id not in gym.registry:
            gym.register(
                env_id,
                entry_point="gym_envs.bandits.env:BanditEnv",
                vector_entry_point="gym_envs.bandits.vector_env:BanditVectorEnv",
                kwargs=settings,
            )
