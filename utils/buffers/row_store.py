"""Rows of one kind, written and read by place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.buffers.place import Place, numpy_dtype
from utils.buffers.row_kernels import copy_rows, scatter_rows
from utils.buffers.sequence_kernels import copy_windows


class RowStore:
    """One array `(n_slots + 1, ...)`; the last row takes what belongs nowhere any more.

    Attributes:
        flat: All rows.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: torch.dtype, *, n_slots: int, place: Place
    ) -> None:
        """Allocate zeros.

        Args:
            shape: Of one row.
            dtype: Of the rows.
            n_slots: Number of places.
            place: Where the array lies.
        """
        self.shape, self.dtype, self._n_slots = shape, dtype, n_slots
        self.flat = place.allocate((n_slots + 1, *shape), dtype)
        self._place = place
        self._row_bytes = math.prod(shape) * dtype.itemsize

    def rings(self, n_envs: int, n_rows: int) -> Tensor:
        """Return the first rows of each ring, (n_envs, n_rows, ...), a view."""
        return self.flat[: self._n_slots].view(n_envs, -1, *self.shape)[:, :n_rows]

    def write(self, places: np.ndarray, values: Any) -> None:
        """Copy rows; of two for one place the later stays.

        Args:
            places: (n,) int64, below 0 for what belongs nowhere any more.
            values: (n, ...) array or tensor, on any device.
        """
        assert len(places) == len(values), (len(places), len(values))
        if self._place.is_ordinary:
            rows = self._as_rows(values)
            assert rows.shape[1:] == self.shape, (rows.shape, self.shape)
            scatter_rows(rows.data_ptr(), self._row_bytes, self.flat.data_ptr(), places)
            return
        values = torch.as_tensor(values).detach()
        assert values.shape[1:] == self.shape, (values.shape, self.shape)
        values = values.to(self._place.device, self.dtype, non_blocking=True)
        self.flat[self._upload(keep_last(places, self._n_slots))] = values

    def _as_rows(self, values: Any) -> Tensor:
        if isinstance(values, np.ndarray) and self.dtype != torch.bfloat16:
            values = np.require(values, numpy_dtype(self.dtype), requirements=["C", "W"])
        values = torch.as_tensor(values)
        return values.detach().to("cpu", self.dtype).contiguous()

    def gather(self, places: np.ndarray) -> Tensor:
        """Pick rows.

        Args:
            places: int64 of any shape.

        Returns:
            (*places.shape, ...)
        """
        if not self._place.is_ordinary:
            return self.flat[self._upload(places)]
        picked = torch.empty((*places.shape, *self.shape), dtype=self.dtype)
        copy_rows(self.flat.data_ptr(), self._row_bytes, picked.data_ptr(), places.reshape(-1))
        return picked

    def gather_windows(self, places: np.ndarray, n_rows: int) -> Tensor:
        """Pick sequences of rows that follow on each other in rings of `n_rows`.

        Args:
            places: (B, L) int64
            n_rows: Rows of a ring.

        Returns:
            (B, L, ...)
        """
        if not self._place.is_ordinary:
            return self.flat[self._upload(places)]
        picked = torch.empty((*places.shape, *self.shape), dtype=self.dtype)
        copy_windows(self.flat.data_ptr(), self._row_bytes, picked.data_ptr(), places, n_rows)
        return picked

    def _upload(self, places: np.ndarray) -> Tensor:
        return torch.from_numpy(places).to(self._place.device, non_blocking=True)


def keep_last(places: np.ndarray, nowhere: int) -> np.ndarray:
    """Send all but the last of equal places, and those below 0, to a place that nobody reads."""
    _, last = np.unique(places[::-1], return_index=True)
    kept = np.full_like(places, nowhere)
    last = len(places) - 1 - last
    kept[last] = np.where(places[last] < 0, nowhere, places[last])
    return kept
