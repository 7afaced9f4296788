"""The arrays that one vector step is written to, private or shared between processes."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import gymnasium as gym
import numpy as np

Allocate = Callable[[tuple[int, ...], np.dtype], np.ndarray]
_ALIGNMENT = 64  # bytes: a cache line, so that no two workers write to one


@dataclass(slots=True)
class StepArrays:
    """Results of one vector step of N environments.

    Attributes:
        observations: Leaf arrays (N, ...), in leaf order.
        final_observations: Like `observations`; a row counts only where an episode ended.
        rewards: (N,) float64, what the learner gets.
        terminated: (N,) bool, the Markov decision process ended.
        truncated: (N,) bool, only the recording ended.
        raw_rewards: (N,) float64 before any wrapper changed them.
        episode_over: (N,) bool, the true episode ended.
        action_masks: (N, n) bool, which actions the observed state allows; (N, 0) without masks.
        final_action_masks: Like `action_masks`, of the final observation; a row counts only where
            an episode was truncated.
    """

    observations: list[np.ndarray]
    final_observations: list[np.ndarray]
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    raw_rewards: np.ndarray
    episode_over: np.ndarray
    action_masks: np.ndarray
    final_action_masks: np.ndarray

    @classmethod
    def allocate(
        cls,
        spaces: Sequence[gym.Space],
        n_envs: int,
        allocate: Allocate = np.zeros,
        *,
        mask_width: int = 0,
    ) -> StepArrays:
        """Allocate arrays in the order of the attributes.

        Args:
            spaces: Stored space of each leaf.
            n_envs: Number of environments N.
            allocate: Returns an array of a shape and dtype.
            mask_width: Width of an action mask; 0 without masks.
        """

        def leaf_arrays() -> list[np.ndarray]:
            return [allocate((n_envs, *s.shape), np.dtype(s.dtype)) for s in spaces]

        def column(dtype: type) -> np.ndarray:
            return allocate((n_envs,), np.dtype(dtype))

        return cls(
            observations=leaf_arrays(),
            final_observations=leaf_arrays(),
            rewards=column(np.float64),
            terminated=column(np.bool_),
            truncated=column(np.bool_),
            raw_rewards=column(np.float64),
            episode_over=column(np.bool_),
            action_masks=allocate((n_envs, mask_width), np.dtype(np.bool_)),
            final_action_masks=allocate((n_envs, mask_width), np.dtype(np.bool_)),
        )

    def clear_outcomes(self) -> None:
        """Zero all but the observations and the masks."""
        for column in (self.rewards, self.terminated, self.truncated, self.raw_rewards):
            column.fill(0)
        self.episode_over.fill(False)

    def rows(self, chunk: slice) -> StepArrays:
        """Return views of the rows of some environments."""
        return StepArrays(
            [array[chunk] for array in self.observations],
            [array[chunk] for array in self.final_observations],
            self.rewards[chunk],
            self.terminated[chunk],
            self.truncated[chunk],
            self.raw_rewards[chunk],
            self.episode_over[chunk],
            self.action_masks[chunk],
            self.final_action_masks[chunk],
        )


class SharedArena:
    """Hands out arrays in one memory-mapped block, in the same order in every process."""

    def __init__(self, block: mmap.mmap | None = None) -> None:
        """Hand out arrays of `block`; without one, only add up `size` in bytes."""
        self._block = block
        self.size = 0

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return the next array of the block, with the bytes that are there."""
        count = int(np.prod(shape, dtype=np.int64))
        offset = self.size
        self.size += -(-max(count * dtype.itemsize, 1) // _ALIGNMENT) * _ALIGNMENT
        if self._block is None or count == 0:
            return np.empty(0 if self._block is None else shape, dtype)
        return np.frombuffer(self._block, dtype, count, offset).reshape(shape)


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedLayout:
    """What lies in the shared memory of all environments: two sets of results, the actions.

    Attributes:
        spaces: Stored space of each leaf of the observation.
        n_envs: Number of all environments N.
        action_shape: (N, ...).
        action_dtype: Of the action space.
        mask_width: Width of an action mask; 0 without masks.
    """

    spaces: tuple[gym.Space, ...]
    n_envs: int
    action_shape: tuple[int, ...]
    action_dtype: np.dtype
    mask_width: int = 0

    def size(self) -> int:
        """Return the number of bytes needed."""
        arena = SharedArena()
        self._allocate(arena)
        return arena.size

    def map(self, block: mmap.mmap) -> tuple[StepArrays, StepArrays, np.ndarray]:
        """Return the two sets of results and the actions (N, ...) that lie in `block`."""
        return self._allocate(SharedArena(block))

    def _allocate(self, arena: SharedArena) -> tuple[StepArrays, StepArrays, np.ndarray]:
        even, odd = (
            StepArrays.allocate(
                self.spaces, self.n_envs, arena.allocate, mask_width=self.mask_width
            )
            for _ in range(2)
        )
        return even, odd, arena.allocate(self.action_shape, self.action_dtype)
