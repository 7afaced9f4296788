"""The mean return that counts as solved."""

from __future__ import annotations

from typing import Any

from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv


def resolve_reward_threshold(config: Any, env: VectorEnv | EnvSpec) -> float | None:
    """Return the threshold of a run, or None where there is none.

    The first that is set counts: `config.reward_threshold`, `config.spec.solved_threshold`, the
    environment's own.

    Args:
        config: The run's config.
        env: The built vector env, or the registered spec of its environments.
    """
    for threshold in (config.reward_threshold, config.spec.solved_threshold):
        if threshold is not None:
            return float(threshold)
    return env.reward_threshold
