"""The mean returns at which a task counts as solved and at which a run stops."""

from __future__ import annotations

from typing import Any

from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import VectorEnv


def resolve_reward_threshold(config: Any, env: VectorEnv | EnvSpec) -> float | None:
    """Return the threshold at which a run stops early, or None where there is none.

    The first that is set counts: `config.reward_threshold`, `config.spec.solved_threshold`, the
    environment's own. A config may ask for more than the task does; see `solved_threshold`.

    Args:
        config: The run's config.
        env: The built vector env, or the registered spec of its environments.
    """
    if config.reward_threshold is not None:
        return float(config.reward_threshold)
    return solved_threshold(config, env)


def solved_threshold(config: Any, env: VectorEnv | EnvSpec) -> float | None:
    """Return the mean return at which the task counts as solved, or None where none is known.

    It is `config.spec.solved_threshold` if that is set, or else the environment's own; where the
    run stops has no part in it.

    Args:
        config: The run's config.
        env: The built vector env, or the registered spec of its environments.
    """
    threshold = config.spec.solved_threshold
    return env.reward_threshold if threshold is None else float(threshold)
