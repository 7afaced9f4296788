"""MiniGrid and BabyAI: what the agent sees as numbers or pictures, and their own time limit."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from utils.environment.families.own_limit import make_with_own_limit


def register() -> None:
    """Make the ids of MiniGrid and BabyAI known to Gymnasium."""
    with contextlib.redirect_stdout(io.StringIO()):  # pygame greets
        import minigrid  # noqa: F401 - importing it registers the ids


def make(
    spec: EnvSpec, *, max_episode_steps: int | None, observation: str = "one_hot", **kwargs: Any
) -> gym.Env:
    """Build a MiniGrid environment with a chosen view.

    Args:
        spec: Its registered spec.
        max_episode_steps: Limit in steps; None keeps its own. The reward of a reached goal
            depends on it: `1 - 0.9 * steps / limit`.
        observation: See `gym_envs.minigrid.MiniGridView`.
        kwargs: As for `gymnasium.make`.

    Raises:
        ConfigError: There is no such view.
    """
    from gym_envs.minigrid import MiniGridView

    env = make_with_own_limit(spec, max_episode_steps=max_episode_steps, **kwargs)
    return MiniGridView(env, observation=observation)
