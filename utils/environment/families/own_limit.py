"""Environments that count their steps and truncate themselves."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec


def make_with_own_limit(spec: EnvSpec, *, max_episode_steps: int | None, **kwargs: Any) -> gym.Env:
    """Build an environment whose constructor takes its time limit as `max_steps`.

    A second limit around it could shorten an episode and never lengthen it, and nobody would see
    the first one. So there is one limit, the environment's, and its spec says what it is.

    Args:
        spec: Its registered spec.
        max_episode_steps: Limit in steps; None keeps its own.
        kwargs: As for `gymnasium.make`.
    """
    if max_episode_steps is not None:
        kwargs["max_steps"] = max_episode_steps
    env = gym.make(spec, **kwargs)
    core = env.unwrapped
    assert core.spec is not None, spec.id  # a copy of this environment's own
    # A limit that is drawn anew for each episode is none of the spec's.
    is_fixed = getattr(core, "fixed_max_steps", True)
    core.spec.max_episode_steps = int(core.max_steps) if is_fixed else None
    return env
