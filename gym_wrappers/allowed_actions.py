"""What `info["action_mask"]` says: which actions an environment allows in its present state."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

ACTION_MASK = "action_mask"
"""Key of an environment's info at reset and step."""


def flatten_mask(mask: Any) -> np.ndarray:
    """Return a mask as an environment gives it, an array or one for each part, as (n,) bool."""
    if isinstance(mask, tuple | list) and mask and not np.isscalar(mask[0]):
        mask = np.concatenate([np.reshape(part, -1) for part in mask])
    return np.reshape(mask, -1) != 0


def is_allowed(action: Any, info: dict[str, Any], space: gym.Space) -> bool:
    """Say whether an environment allows an action now; one that gives no mask allows all.

    Args:
        action: A value of the space.
        info: Of the environment's last step or reset.
        space: The environment's action space.
    """
    if ACTION_MASK not in info:
        return True
    mask = flatten_mask(info[ACTION_MASK])
    match space:
        case gym.spaces.Discrete():
            return bool(mask[int(action) - int(space.start)])
        case gym.spaces.MultiDiscrete():
            sizes = space.nvec.reshape(-1)
            chosen = np.reshape(action, -1) - space.start.reshape(-1)
            return bool(mask[np.cumsum(sizes) - sizes + chosen].all())
        case gym.spaces.MultiBinary():
            return bool((mask | (np.reshape(action, -1) == 0)).all())
    return True
