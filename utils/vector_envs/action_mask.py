"""Action masks: which choices an environment allows in its present state."""

from __future__ import annotations

from itertools import pairwise

import gymnasium as gym
import numpy as np

from gym_wrappers.allowed_actions import ACTION_MASK, flatten_mask

__all__ = ["ACTION_MASK", "FINAL_ACTION_MASK", "find_blocked", "flatten_mask", "mask_width"]

FINAL_ACTION_MASK = "final_action_mask"
"""Key of a vector env's infos: what the states that episodes were truncated in allowed."""


def mask_width(space: gym.Space) -> int | None:
    """Return the length of a mask over `space`; None for a Box, where nothing can be forbidden.

    Discrete: one entry for each choice, counting from 0; MultiDiscrete: the entries of its parts
    one after another; MultiBinary: one for each bit, whether it may be 1.
    """
    match space:
        case gym.spaces.Discrete():
            return int(space.n)
        case gym.spaces.MultiDiscrete():
            return int(space.nvec.sum())
        case gym.spaces.MultiBinary():
            return int(np.prod(space.shape, dtype=int))
    return None


def find_blocked(masks: np.ndarray, space: gym.Space) -> int | None:
    """Return the first environment that allows no action at all; None if there is none.

    Args:
        masks: (N, mask_width) bool.
        space: The single action space.
    """
    if isinstance(space, gym.spaces.MultiBinary):
        return None  # all bits 0 is always allowed
    if isinstance(space, gym.spaces.MultiDiscrete):
        bounds = np.concatenate([[0], np.cumsum(space.nvec)]).tolist()
        is_open = np.stack([masks[:, a:b].any(axis=1) for a, b in pairwise(bounds)]).all(axis=0)
    else:
        is_open = masks.any(axis=1)
    return None if is_open.all() else int(np.flatnonzero(~is_open)[0])
