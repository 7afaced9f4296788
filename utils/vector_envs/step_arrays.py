"""The arrays that one vector step is written to, private or shared between processes."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from utils.vector_envs.observation_steps import LeafSteps

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
    """

    observations: list[np.ndarray]
    final_observations: list[np.ndarray]
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    raw_rewards: np.ndarray
    episode_over: np.ndarray

    @classmethod
    def allocate(
        cls, steps: tuple[LeafSteps, ...], n_envs: int, allocate: Allocate = np.zeros
    ) -> StepArrays:
        """Allocate arrays for `n_envs` environments, in the order of the attributes."""

        def leaf_arrays() -> list[np.ndarray]:
            return [
                allocate((n_envs, *leaf.space.shape), np.dtype(leaf.space.dtype)) for leaf in steps
            ]

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
        )

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
        )


class SharedArena:
    """Hands out arrays in one memory-mapped block, in the same order in every process."""

    def __init__(self, block: mmap.mmap | None = None) -> None:
        """Measure sizes only, or hand out arrays of `block`."""
        self._block = block
        self.size = 0

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return the next array of the block (bytes as they are)."""
        count = int(np.prod(shape, dtype=np.int64))
        offset = self.size
        self.size += -(-max(count * dtype.itemsize, 1) // _ALIGNMENT) * _ALIGNMENT
        if self._block is None:
            return np.empty(0, dtype)
        return np.frombuffer(self._block, dtype, count, offset).reshape(shape)
