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
        self._waiting = torch.empty(0)
        self._first, self._n_waiting = 0, 0

    def write(self, row: Any, values: Any) -> None:
        """Copy `values` into `rows[row]`, with the dtype of the rows.

        Args:
            row: A number, an array of them, or a tuple of a number and an array.
            values: Array, tensor on any device, or one number for all.
        """
        if self._view is not None:
            self._view[row] = values.numpy(force=True) if isinstance(values, Tensor) else values
            return
        is_one = not isinstance(row, tuple | np.ndarray)
        if is_one and not (isinstance(values, Tensor) and values.device.type != "cpu"):
            self._let_wait(row, values)
            return
        self.flush()
        if is_one:
            self._rows[row].copy_(values, non_blocking=True)
            return
        rows, index = (self._rows[row[0]], row[1]) if isinstance(row, tuple) else (self._rows, row)
        device = rows.device
        rows[upload(index, device)] = upload(values, device, rows.dtype)

    def _let_wait(self, row: int, values: Any) -> None:
        if self._n_waiting and row != self._first + self._n_waiting:
            self.flush()
        if not self._n_waiting:
            # What was copied from is not written again: the device may still have to read it.
            shape, is_cuda = (self._n_most, *self._rows.shape[1:]), self._rows.is_cuda
            self._waiting = torch.empty(shape, dtype=self._rows.dtype, pin_memory=is_cuda)
            self._first = row
        array = values.numpy() if isinstance(values, Tensor) else values
        self._waiting.numpy()[self._n_waiting] = array
        self._n_waiting += 1
        if self._n_waiting == self._n_most:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._n_waiting:
            n, self._n_waiting = self._n_waiting, 0
            self._rows[self._first :][:n].copy_(self._waiting[:n], non_blocking=True)
