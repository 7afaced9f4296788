"""Writing rows of tensors from arrays or tensors, without a temporary on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.buffers.place import Place
from utils.uploads import upload

_MOST_WAITING = 256
_MOST_WAITING_BYTES = 1 << 20


class RowWriter:
    """Writes rows of one tensor in any place.

    A device takes as long to be given one small row as to be given many, so there rows that follow
    on each other wait on the host until there are enough of them, or until `flush`, which comes
    before anybody reads the tensor.
    """

    def __init__(self, rows: Tensor, place: Place) -> None:
        """Take a tensor of which rows will be written, and where it lies."""
        self._rows = rows
        # An indexed write of a tensor costs several times as much as NumPy's.
        self._view = rows.numpy() if place.is_ordinary else None
        row_bytes = max(rows.nbytes // max(len(rows), 1), 1)
        self._n_most = min(max(_MOST_WAITING_BYTES // row_bytes, 1), _MOST_WAITING)
        self._staged = torch.empty(0)
        self._staged_array = self._staged.numpy()
        # Those from `begin` to `end` wait, and are the rows before `next_row`.
        self._begin = self._end = self._n_most
        self._next_row = 0

    def write(self, row: Any, values: Any) -> None:
        """Copy `values` into `rows[row]`, with the dtype of the rows.

        Args:
            row: A number, an array of them, or a tuple of a number and an array.
            values: Array, tensor on any device, or one number for all of one row.
        """
        if isinstance(values, Tensor):
            if self._view is None and not values.is_cpu:
                self._hand_over(row, values)
                return
            values = values.numpy(force=True)
        if self._view is not None:
            self._view[row] = values
        elif isinstance(row, tuple):
            self._hand_over(row, values)
        elif isinstance(row, np.ndarray):
            for one, value in zip(row.tolist(), values, strict=True):
                self._let_wait(one, value)
        else:
            self._let_wait(row, values)

    def _hand_over(self, row: Any, values: Any) -> None:
        self.flush()
        if not isinstance(row, tuple | np.ndarray):
            self._rows[row].copy_(values, non_blocking=True)
            return
        rows, index = (self._rows[row[0]], row[1]) if isinstance(row, tuple) else (self._rows, row)
        device = rows.device
        rows[upload(index, device)] = upload(values, device, rows.dtype)

    def _let_wait(self, row: int, values: Any) -> None:
        if row != self._next_row or self._end == self._n_most:
            self._begin_anew(row)
        self._staged_array[self._end] = values
        self._end += 1
        self._next_row = row + 1

    def _begin_anew(self, row: int) -> None:
        """Write what waits, and make room for what follows from `row` on."""
        self.flush()
        self._next_row = row
        if self._end < self._n_most:
            return
        # What was copied from is not written again: the device may still have to read it.
        shape, is_cuda = (self._n_most, *self._rows.shape[1:]), self._rows.is_cuda
        self._staged = torch.empty(shape, dtype=self._rows.dtype, pin_memory=is_cuda)
        self._staged_array = self._staged.numpy()
        self._begin = self._end = 0

    def flush(self) -> None:
        """Write what waits."""
        n = self._end - self._begin
        if n:
            waiting = self._staged.narrow(0, self._begin, n)
            self._rows.narrow(0, self._next_row - n, n).copy_(waiting, non_blocking=True)
            self._begin = self._end
