"""Frames of one leaf of the observations: a ring over time, and the final ones beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.buffers.observation_leaves import Leaf
from utils.buffers.place import Place
from utils.buffers.row_writes import RowWriter


class FrameStore:
    """One array `(n_rows * n_envs + n_finals, ...)`, so that one index picks from both.

    Attributes:
        flat: All frames: row t of environment e is at `t * n_envs + e`, then come the final ones.
        ring: (n_rows, n_envs, ...), a view.
        finals: (n_finals, ...), a view.
    """

    def __init__(
        self, leaf: Leaf, *, n_rows: int, n_envs: int, n_finals: int, place: Place
    ) -> None:
        """Allocate the array."""
        self.leaf, self.n_rows = leaf, n_rows
        n_slots = n_rows * n_envs
        self.flat = place.allocate((n_slots + n_finals, *leaf.frame_shape), leaf.dtype)
        self.ring: Tensor = self.flat[:n_slots].view(n_rows, n_envs, *leaf.frame_shape)
        self.finals: Tensor = self.flat[n_slots:]
        self._whole = self.flat.reshape(len(self.flat), -1)
        if leaf.dtype == torch.uint8 and leaf.frame_bytes % torch.int64.itemsize == 0:
            self._whole = self._whole.view(torch.int64)
        self._ring_writer = RowWriter(self.ring, place)
        self._final_writer = RowWriter(self.finals, place)

    def pick(self, places: Tensor) -> Tensor:
        """Return the frames in places of any shape, (*places.shape, ...), by tensor operations.

        A GPU copies number by number; pictures are read as numbers of eight bytes.
        """
        picked = self._whole[places].view(self.leaf.dtype)
        return picked.view(*places.shape, *self.leaf.frame_shape)

    def write_newest(
        self, step: int, observation: Any, environments: np.ndarray | None = None
    ) -> None:
        """Copy the newest frames of observations (N, ...) into the row of a step."""
        frames = self.leaf.frames_of(observation, -1)
        if environments is None:
            self._ring_writer.write(step % self.n_rows, frames)
        else:
            self._ring_writer.write((step % self.n_rows, environments), frames[environments])

    def write_stack(self, step: int, observation: Any, environments: np.ndarray) -> None:
        """Copy all frames of observations (N, ...) into the row of a step and those before it."""
        for i in range(self.leaf.n_stacked):
            frames = self.leaf.frames_of(observation, -1 - i)[environments]
            self._ring_writer.write(((step - i) % self.n_rows, environments), frames)

    def write_finals(
        self, slots: np.ndarray, observation: Any, environments: np.ndarray, *, are_frames: bool
    ) -> None:
        """Copy the newest frames of some environments' observations (N, ...) into final places."""
        frames = observation if are_frames else self.leaf.frames_of(observation, -1)
        self._final_writer.write(slots, frames[environments])

    def flush(self) -> None:
        """Write what waits on the host."""
        self._ring_writer.flush()
        self._final_writer.flush()

    def newest_rows(self, step: int) -> Tensor:
        """Return the frames of a step, (N, ...), a view."""
        return self.ring[step % self.n_rows]
