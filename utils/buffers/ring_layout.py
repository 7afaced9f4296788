"""What rings of transitions and of sequences have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass

import gymnasium as gym
import torch

from utils.buffers.observation_leaves import Leaf, observation_leaves
from utils.buffers.priorities import Priorities, priority_bytes
from utils.spaces import torch_dtype


@dataclass(frozen=True, kw_only=True, slots=True)
class RingLayout:
    """Sizes and kinds of the arrays that hold what N environments did, a row for each step."""

    capacity: int
    """What is kept of all environments, rounded up to as much of each."""
    n_envs: int
    observation_space: gym.Space
    """Single observation space; Dict spaces are flat."""
    action_space: gym.Space
    """Single action space; says shape and dtype of stored actions."""
    frame_stack: int = 1
    """Frames of an observation along its first axis; each is stored once."""
    unstacked: tuple[str, ...] = ()
    """Keys of a Dict that hold no stacks, such as an action mask."""
    priorities: Priorities | None = None
    """Prioritised sampling; None for uniform."""

    @property
    def n_kept(self) -> int:
        """Rows of each environment that batches are made of."""
        return -(-self.capacity // self.n_envs)

    @property
    def n_rows(self) -> int:
        """Rows of the ring: also the newest, where nothing was done yet, and older frames."""
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
    def frame_bytes(self) -> int:
        """Bytes of what a row shows."""
        return sum(leaf.frame_bytes for leaf in self.leaves)

    @property
    def action_bytes(self) -> int:
        """Bytes of one action."""
        return math.prod(self.action_shape) * self.action_dtype.itemsize

    @property
    def tree_bytes(self) -> int:
        """Bytes of the priorities, if there are any."""
        return 0 if self.priorities is None else priority_bytes(self.n_slots)
