"""What a buffer of transitions holds, and its size, before anything is allocated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import torch

from utils.buffers.observation_leaves import Leaf, observation_leaves
from utils.buffers.priorities import Priorities, priority_bytes
from utils.spaces import space_to_dict, torch_dtype

_CHEAP_BYTES = 16 * 2**20
_STEPS_PER_FINAL = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class TransitionLayout:
    """Sizes and kinds of a buffer's arrays."""

    capacity: int
    """Transitions over all environments, rounded up to whole vector steps."""
    n_envs: int
    observation_space: gym.Space
    """Single observation space; Dict spaces are flat."""
    action_space: gym.Space
    """Single action space; says shape and dtype of stored actions."""
    frame_stack: int = 1
    """Frames of an observation along its first axis; each is stored once."""
    unstacked: tuple[str, ...] = ()
    """Keys of a Dict that hold no stacks, such as an action mask."""
    n_finals: int | None = None
    """Final observations that are kept beside the others. Should more episodes end within the
    capacity, the oldest transitions go early, and a warning says so. None for as many as there can
    be, where that makes no more than 16 MiB in all, else one for twenty transitions."""
    priorities: Priorities | None = None
    """Prioritised sampling; None for uniform."""

    @property
    def n_steps(self) -> int:
        """Vector steps that are kept (T)."""
        return -(-self.capacity // self.n_envs)

    @property
    def n_rows(self) -> int:
        """Rows of the ring: T, the newest observation, and older frames of the oldest stack."""
        return self.n_steps + self.frame_stack

    @property
    def n_slots(self) -> int:
        """Places for transitions, of all environments."""
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
    def n_final_slots(self) -> int:
        """Places for final observations."""
        if self.n_finals is not None:
            return max(self.n_finals, self.n_envs)
        most = self.n_steps * self.n_envs
        if self._bytes(most) <= _CHEAP_BYTES:
            return most
        return max(-(-most // _STEPS_PER_FINAL), self.n_envs)

    @property
    def n_bytes(self) -> int:
        """Declared size: what the arrays take once all of them are full."""
        return self._bytes(self.n_final_slots)

    def _bytes(self, n_finals: int) -> int:
        frame = sum(leaf.frame_bytes for leaf in self.leaves)
        action = math.prod(self.action_shape) * self.action_dtype.itemsize
        reward_and_ending = 4 + 4
        step_of_final = 8
        tree = 0 if self.priorities is None else priority_bytes(self.n_slots)
        return (
            self.n_slots * (frame + action + reward_and_ending)
            + n_finals * (frame + step_of_final)
            + tree
        )

    def describe(self) -> dict[str, Any]:
        """Return what two buffers must share for one to load the other, as JSON."""
        return {
            "kind": "transitions",
            "n_steps": self.n_steps,
            "n_envs": self.n_envs,
            "observation_space": space_to_dict(self.observation_space),
            "action_space": space_to_dict(self.action_space),
            "frame_stack": self.frame_stack,
            "n_finals": self.n_final_slots,
            "is_prioritized": self.priorities is not None,
        }
