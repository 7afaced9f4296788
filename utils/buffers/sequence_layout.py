"""What a buffer of sequences holds, and its size, before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import torch

from utils.buffers.observation_leaves import Leaf, observation_leaves
from utils.buffers.priorities import Priorities, priority_bytes
from utils.spaces import space_to_dict, torch_dtype

_BOOKKEEPING_BYTES = 1 + 4 + 4
"""Of a row: its flags, its place in the table of starts, and that place's entry."""


@dataclass(frozen=True, slots=True)
class StateField:
    """Something that a model remembers at each row."""

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32


@dataclass(frozen=True, kw_only=True, slots=True)
class SequenceLayout:
    """Sizes and kinds of a buffer's arrays."""

    capacity: int
    """Rows over all environments, rounded up to as many of each. An episode of n steps takes n + 1:
    its final observation has a row of its own."""
    n_envs: int
    observation_space: gym.Space
    """Single observation space; Dict spaces are flat."""
    action_space: gym.Space
    """Single action space; says shape and dtype of stored actions."""
    sequence_length: int
    """Rows of a sequence (L)."""
    crosses_episodes: bool
    """Whether a sequence may hold the end of one episode and the beginning of the next."""
    state: Mapping[str, StateField] = field(default_factory=dict)
    """What a model remembers at each row, by name."""
    frame_stack: int = 1
    """Frames of an observation along its first axis; each is stored once."""
    unstacked: tuple[str, ...] = ()
    """Keys of a Dict that hold no stacks, such as an action mask."""
    priorities: Priorities | None = None
    """Prioritised sampling of sequences; None for uniform."""

    def __post_init__(self) -> None:
        """Check that a sequence fits."""
        assert self.n_kept >= self.sequence_length, (self.n_kept, self.sequence_length)

    @property
    def n_kept(self) -> int:
        """Rows of each environment that sequences are made of."""
        return -(-self.capacity // self.n_envs)

    @property
    def n_rows(self) -> int:
        """Rows of each ring: also the newest, where nothing was done yet, and older frames."""
        return self.n_kept + self.frame_stack

    @property
    def n_slots(self) -> int:
        """Places for rows, of all environments."""
        return self.n_rows * self.n_envs

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Parts of an observation."""
        return observation_leaves(
            self.observation_space, frame_stack=self.frame_stack, unstacked=self.unstacked
        )

    @property
    def action_shape(self) -> tuple[int, ...]:
        """Shape of one action."""
        return tuple(self.action_space.shape or ())

    @property
    def action_dtype(self) -> torch.dtype:
        """Dtype of stored actions: float32, uint8 or int64."""
        return torch_dtype(self.action_space)

    @property
    def n_bytes(self) -> int:
        """Declared size: what the arrays take once all of them are full."""
        row = sum(leaf.frame_bytes for leaf in self.leaves)
        row += math.prod(self.action_shape) * self.action_dtype.itemsize
        row += sum(math.prod(s.shape) * s.dtype.itemsize for s in self.state.values())
        row += torch.float32.itemsize  # the reward
        tree = 0 if self.priorities is None else priority_bytes(self.n_slots)
        # One row of each array takes what belongs nowhere any more.
        return (self.n_slots + 1) * row + self.n_slots * _BOOKKEEPING_BYTES + tree

    def describe(self) -> dict[str, Any]:
        """Return what two buffers must share for one to load the other, as JSON."""
        return {
            "kind": "sequences",
            "n_rows": self.n_rows,
            "n_envs": self.n_envs,
            "sequence_length": self.sequence_length,
            "crosses_episodes": self.crosses_episodes,
            "observation_space": space_to_dict(self.observation_space),
            "action_space": space_to_dict(self.action_space),
            "state": {k: [list(s.shape), str(s.dtype)] for k, s in sorted(self.state.items())},
            "frame_stack": self.frame_stack,
            "is_prioritized": self.priorities is not None,
        }
