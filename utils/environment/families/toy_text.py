"""Gymnasium's toy text environments as one vector environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gym_envs.arguments import check_one_thread, find_unfit
from utils.environment.families.standard import find_spec, make_env, why_another

if TYPE_CHECKING:
    from gym_envs.toy_text.vector_env import TableVectorEnv

_PACKAGE = "gymnasium.envs.toy_text"


def why_not_native(env_id: str, *, options: Mapping[str, Any]) -> str | None:
    """Say what keeps environments from being stepped as arrays; None if nothing does.

    Args:
        env_id: Id of the environment.
        options: Config key -> value of what changes the environment or its observations.
    """
    spec = find_spec(env_id)
    reason = why_another(spec, package=_PACKAGE)
    if reason is not None:
        return reason
    unfit = find_unfit(options, known=("env_kwargs",))
    if unfit:
        return f"it takes no {', '.join(unfit)}"
    kwargs = {**spec.kwargs, **options["env_kwargs"]}
    if kwargs.get("fickle_passenger"):
        return "fickle_passenger is no part of the table of its rules"
    if "map_name" in kwargs and kwargs["map_name"] is None and kwargs.get("desc") is None:
        return "map_name: null draws another map for each environment"
    return None


def build_native(
    env_id: str,
    *,
    n_envs: int,
    n_threads: int | None,
    max_episode_steps: int | None,
    options: Mapping[str, Any],
) -> TableVectorEnv:
    """Build the vector environment.

    Args:
        env_id: Id for which `why_not_native` finds nothing.
        n_envs: Number of environments, at least 1.
        n_threads: Not more than 1, or None: the steps are single array operations.
        max_episode_steps: Replaces the environment's own limit; None keeps it.
        options: Of which `env_kwargs` are arguments of the environment.

    Raises:
        ConfigError: An argument is not taken, out of range or without effect.
    """
    from gym_envs.toy_text.vector_env import TableVectorEnv

    check_one_thread(env_id, n_threads)
    env = make_env(
        find_spec(env_id),
        max_episode_steps=max_episode_steps,
        kwargs=dict(options["env_kwargs"]),
    )
    try:
        return TableVectorEnv(n_envs, env=env, env_id=env_id)
    finally:
        env.close()
