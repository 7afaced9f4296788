"""Doom scenarios: the time limit is the environment's own."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec


def make(spec: EnvSpec, *, max_episode_steps: int | None, **kwargs: Any) -> gym.Env:
    """Build a scenario, with another limit in place of its own where one is given.

    Args:
        spec: Its registered spec.
        max_episode_steps: Limit in steps of the agent; None keeps the scenario's time-out.
        kwargs: As for `gymnasium.make`.
    """
    if max_episode_steps is not None:
        kwargs["max_steps"] = max_episode_steps
    return gym.make(spec, **kwargs)
