"""Cuts episodes after a number of steps, if that is sooner than they end anyway."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from typing_extensions import override

from utils.errors import ConfigError


class TimeLimit(gym.wrappers.TimeLimit):
    """Truncates episodes; as a config's `max_episode_steps`, but among other wrappers.

    A limit outside another one can only shorten episodes: one that is not shorter than the limit
    inside would never be reached and is refused. To lengthen episodes set `max_episode_steps`,
    which replaces the limit that the environment is registered with.
    """

    def __init__(self, env: gym.Env, *, max_episode_steps: int) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            max_episode_steps: Steps after which an episode is truncated, >= 1 and below the limit
                that there is.

        Raises:
            ConfigError: The limit has no effect or is no number, or a wrapper below ends episodes
                of its own, each of which it would count anew.
        """
        if not isinstance(max_episode_steps, int) or max_episode_steps < 1:
            raise ConfigError(
                "env_wrappers: TimeLimit: max_episode_steps must be a whole number >= 1, got "
                f"{max_episode_steps!r}"
            )
        limit = _find_limit(env)
        if limit is not None and max_episode_steps >= limit:
            raise ConfigError(
                f"env_wrappers: TimeLimit {max_episode_steps} has no effect: episodes are cut "
                f"after {limit} steps already; set max_episode_steps (beside env_wrappers) to "
                "change that limit"
            )
        inner = env
        while isinstance(inner, gym.Wrapper):
            if getattr(type(inner), "changes_termination", False):
                name = type(inner).__name__
                raise ConfigError(f"env_wrappers: put TimeLimit before {name}")
            inner = inner.env
        super().__init__(env, max_episode_steps)

    @override
    def __repr__(self) -> str:
        return f"<TimeLimit {self._max_episode_steps}{self.env}>"


def _find_limit(env: gym.Env) -> int | None:
    own: Any = getattr(env.unwrapped, "max_episode_steps", None)
    limit = None if env.spec is None else env.spec.max_episode_steps
    known = [value for value in (own, limit) if value is not None]
    return min(known, default=None)
