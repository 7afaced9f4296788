"""The parts that an observation is stored in: one array each, of frames rather than of stacks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from utils.spaces import torch_dtype

SINGLE = ""
"""Key of the one leaf of an observation that is no Dict."""
_PICTURE_DIMENSIONS = 3


@dataclass(frozen=True, slots=True)
class Leaf:
    """One part of an observation."""

    key: str
    frame_shape: tuple[int, ...]
    """Of what is stored: one frame of a stack, or all of it."""
    dtype: torch.dtype
    n_stacked: int
    """Frames that the observation joins along its first axis, oldest first; 1 without a stack."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the observation."""
        if self.n_stacked == 1:
            return self.frame_shape
        return (self.n_stacked * self.frame_shape[0], *self.frame_shape[1:])

    @property
    def frame_bytes(self) -> int:
        """Bytes of one stored frame."""
        return math.prod(self.frame_shape) * self.dtype.itemsize

    def frames_of(self, observation: Any, which: int) -> Any:
        """Return one frame of each observation (N, ...), counted from the newest at -1, a view."""
        assert observation.shape[1:] == self.shape, (observation.shape, self.shape)
        if self.n_stacked == 1:
            return observation
        n = self.frame_shape[0]
        start = (self.n_stacked + which) * n
        return observation[:, start : start + n]


def observation_leaves(
    space: gym.Space, *, frame_stack: int, unstacked: tuple[str, ...] = ()
) -> tuple[Leaf, ...]:
    """Return the leaves of a space, Dict keys in alphabetical order.

    Args:
        space: Single observation space; Dict spaces are flat.
        frame_stack: Frames that the vector environment joins along the first axis. In a Dict with
            pictures (uint8, three dimensions) only those are stacks, as the environment makes them.
        unstacked: Keys of a Dict that hold no stacks whatever else does.
    """
    if not isinstance(space, gym.spaces.Dict):
        return (_leaf(SINGLE, space, frame_stack),)
    parts = {key: space[key] for key in sorted(space.spaces)}
    has_pictures = any(_is_picture(part) for part in parts.values())

    def n_stacked(key: str, part: gym.Space) -> int:
        is_stack = key not in unstacked and (_is_picture(part) or not has_pictures)
        return frame_stack if is_stack else 1

    return tuple(_leaf(key, part, n_stacked(key, part)) for key, part in parts.items())


def part_of(observation: Any, key: str) -> Any:
    """Return the value of a leaf."""
    return observation if key == SINGLE else observation[key]


def assemble(parts: dict[str, Any]) -> Any:
    """Return an observation of the values of its leaves."""
    return parts.get(SINGLE, parts)


def _is_picture(space: gym.Space) -> bool:
    return space.dtype == np.uint8 and len(space.shape or ()) == _PICTURE_DIMENSIONS


def _leaf(key: str, space: gym.Space, n_stacked: int) -> Leaf:
    shape = tuple(space.shape or ())
    if n_stacked == 1:
        return Leaf(key, shape, torch_dtype(space), 1)
    assert shape, (key, space)
    assert shape[0] % n_stacked == 0, (key, shape, n_stacked)
    return Leaf(key, (shape[0] // n_stacked, *shape[1:]), torch_dtype(space), n_stacked)
