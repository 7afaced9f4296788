"""The circuit's vector environment for configs: which settings it knows, and how it is built."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gym_envs.arguments import find_unfit
from utils.errors import ConfigError

if TYPE_CHECKING:
    from gym_envs.ccas_ccar.vector_env import CcasCcarVectorEnv

_OWN = ("env_kwargs", "frame_stack")


def why_not_native(env_id: str, *, options: Mapping[str, Any]) -> str | None:
    """Say what keeps the cells from being stepped by one compiled call; None if nothing does.

    Args:
        env_id: Gymnasium id, for the message.
        options: Config key -> value of what changes the environment or its observations.
    """
    unfit = find_unfit(options, known=_OWN)
    return f"{env_id} takes no {', '.join(unfit)} there" if unfit else None


def build_native(
    env_id: str,
    *,
    n_envs: int,
    n_threads: int | None,
    max_episode_steps: int | None,
    options: Mapping[str, Any],
) -> CcasCcarVectorEnv:
    """Build the vector environment.

    Args:
        env_id: Gymnasium id.
        n_envs: Number of environments, at least 1.
        n_threads: Threads that share the work; None for one.
        max_episode_steps: Time limit in steps instead of 288.
        options: As for `why_not_native`.

    Raises:
        ConfigError: An argument of the environment is unknown or out of range, or there are not
            that many threads.
    """
    from gym_envs.ccas_ccar.cells import check_threads
    from gym_envs.ccas_ccar.task import Task
    from gym_envs.ccas_ccar.vector_env import CcasCcarVectorEnv

    kwargs = dict(options.get("env_kwargs") or {})
    known = list(inspect.signature(Task).parameters)
    for key in kwargs:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
            raise ConfigError(f"env_kwargs: {env_id} takes no '{key}'; {hint}")
    try:
        Task(**kwargs)
    except ValueError as error:
        raise ConfigError(f"env_kwargs: {env_id}: {error}") from error
    try:
        check_threads(n_threads or 1)
    except ValueError as error:
        raise ConfigError(f"n_workers: {error}") from error
    return CcasCcarVectorEnv(
        n_envs,
        **kwargs,
        max_episode_steps=max_episode_steps,
        frame_stack=options.get("frame_stack") or 1,
        copy=False,
        n_threads=n_threads or 1,
    )
