"""How a config's bandits become one vector environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym_envs.arguments import check_one_thread, find_unfit
from gym_envs.bandits.registration import BANDITS
from gym_envs.bandits.settings import read_settings
from gym_envs.bandits.vector_env import BanditVectorEnv
from utils.errors import ConfigError


def why_not_native(env_id: str, *, options: Mapping[str, Any]) -> str | None:
    """Say what keeps bandits from being stepped as arrays; None if nothing does.

    Args:
        env_id: Id of the environment, with or without a module in front.
        options: Config key -> value of what changes the environment or its observations.
    """
    if env_id not in BANDITS:
        return f"there are {', '.join(BANDITS)} only, not {env_id}"
    unfit = find_unfit(options, known=("env_kwargs",))
    return f"it takes no {', '.join(unfit)}" if unfit else None


def build_native(
    env_id: str,
    *,
    n_envs: int,
    n_threads: int | None,
    max_episode_steps: int | None,
    options: Mapping[str, Any],
) -> BanditVectorEnv:
    """Build the vector environment.

    Args:
        env_id: Id of a bandit.
        n_envs: Number of environments, at least 1.
        n_threads: Not more than 1, or None: the steps are single array operations.
        max_episode_steps: A limit shorter than the horizon, or None.
        options: Of which `env_kwargs` are arguments of the environment.

    Raises:
        ConfigError: An argument is not taken, out of range or without effect.
    """
    check_one_thread(env_id, n_threads)
    settings = BANDITS[env_id] | dict(options["env_kwargs"])
    horizon = read_settings(settings).horizon
    if max_episode_steps is not None and max_episode_steps > horizon:
        raise ConfigError(
            f"max_episode_steps: {max_episode_steps} has no effect: {env_id} ends its episodes "
            f"itself after {horizon} steps; set env_kwargs.horizon"
        )
    return BanditVectorEnv(n_envs, env_id=env_id, max_episode_steps=max_episode_steps, **settings)
