"""What a buffer of sequences holds, and its size, before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from utils.buffers.ring_layout import RingLayout
from utils.spaces import space_to_dict

_BOOKKEEPING_BYTES = 1 + 4 + 4
"""Of a row: its flags, its place in the table of starts, and that place's entry."""


@dataclass(frozen=True, slots=True)
class StateField:
    """Something that a model remembers at each row."""

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32


@dataclass(frozen=True, kw_only=True, slots=True)
class SequenceLayout(RingLayout):
    """Sizes and kinds of a buffer's arrays; its capacity counts rows.

    An episode of n steps takes n + 1: its final observation has a row of its own.
    """

    sequence_length: int
    """Rows of a sequence (L)."""
    crosses_episodes: bool
    """Whether a sequence may hold the end of one episode and the beginning of the next."""
    state: Mapping[str, StateField] = field(default_factory=dict)
    """What a model remembers at each row, by name."""

    def __post_init__(self) -> None:
        """Check that a sequence fits."""
        assert self.n_kept >= self.sequence_length, (self.n_kept, self.sequence_length)

    @property
    def n_bytes(self) -> int:
        """Declared size: what the arrays take once all of them are full."""
        row = self.frame_bytes + self.action_bytes
        row += sum(math.prod(s.shape) * s.dtype.itemsize for s in self.state.values())
        row += torch.float32.itemsize  # the reward
        # One row of each array takes what belongs nowhere any more.
        return (self.n_slots + 1) * row + self.n_slots * _BOOKKEEPING_BYTES + self.tree_bytes

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
