"""Picking transitions in ordinary memory with one compiled call."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from utils.buffers.frame_store import FrameStore
from utils.buffers.observation_leaves import assemble
from utils.buffers.transition_batch import TransitionBatch
from utils.buffers.transition_kernels import gather


class CompiledGather:
    """Knows where a buffer's arrays lie, which never move."""

    def __init__(
        self,
        frames: Mapping[str, FrameStore],
        *,
        action: Tensor,
        reward: Tensor,
        ending: Tensor,
    ) -> None:
        """Note the addresses; who calls keeps the arrays alive.

        Args:
            frames: Of each leaf of the observations.
            action: (n_rows, N, ...)
            reward: (n_rows, N) float32
            ending: (n_rows, N) int32
        """
        self._n_rows, self._n_envs = reward.shape
        self._frames = frames
        self._action = action
        self._rewards, self._endings = reward.numpy().reshape(-1), ending.numpy().reshape(-1)
        self._fields = np.array(
            [
                (store.flat.data_ptr(), store.leaf.frame_bytes, store.leaf.n_stacked)
                for store in frames.values()
            ],
            dtype=np.int64,
        )
        self._action_bytes = action[0, 0].numel() * action.element_size()

    def __call__(self, index: Tensor, *, tail: int, head: int, powers: Tensor) -> TransitionBatch:
        """Pick transitions by name; see `TransitionBuffer.gather`.

        Args:
            index: (B,) int64 names.
            tail: Number of the oldest vector step that is held.
            head: Number of the vector step that comes next.
            powers: (n + 1,) float64, gamma^0 to gamma^n.
        """
        n = len(index)
        action = torch.empty((n, *self._action.shape[2:]), dtype=self._action.dtype)
        outcome = torch.empty((2, n))
        flags = torch.empty((2, n), dtype=torch.bool)
        first, following, targets = {}, {}, []
        for key, store in self._frames.items():
            shape, dtype = (n, *store.leaf.shape), store.leaf.dtype
            first[key] = torch.empty(shape, dtype=dtype)
            following[key] = torch.empty(shape, dtype=dtype)
            targets.append((first[key].data_ptr(), following[key].data_ptr()))
        are_held = gather(
            index.numpy(),
            self._n_envs,
            self._n_rows,
            tail,
            head,
            powers.numpy(),
            self._rewards,
            self._endings,
            outcome.numpy(),
            flags.numpy(),
            self._fields,
            np.array(targets, dtype=np.int64),
            np.array((self._action.data_ptr(), self._action_bytes, action.data_ptr())),
        )
        assert are_held, f"names from {index.min()} to {index.max()} are not all held"
        reward, discount = outcome.unbind()
        terminated, truncated = flags.unbind()
        return TransitionBatch(
            observation=assemble(first),
            action=action,
            reward=reward,
            next_observation=assemble(following),
            discount=discount,
            terminated=terminated,
            truncated=truncated,
            index=index,
        )
