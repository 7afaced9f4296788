"""Puts our environment behind the ids of the Atari games."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import ale_py  # noqa: F401 - registers the ids
import gymnasium as gym

_ENTRY_POINT = "gym_envs.atari.env:AtariEnv"
_NAMESPACE = "ALE"


def register_games(defaults: Mapping[str, Any]) -> None:
    """Let `gymnasium.make("ALE/Pong-v5")` and its like build our environment from now on.

    `gymnasium.make_vec` goes on building ALE's own vector environment for them.

    Args:
        defaults: Arguments of `AtariEnv` but the game, for whoever leaves them out.
    """
    for env_id, spec in list(gym.registry.items()):
        if spec.namespace == _NAMESPACE and spec.entry_point != _ENTRY_POINT:
            ours = copy.copy(spec)
            ours.entry_point = _ENTRY_POINT
            ours.kwargs = {**defaults, "game": spec.kwargs["game"]}
            gym.registry[env_id] = ours
