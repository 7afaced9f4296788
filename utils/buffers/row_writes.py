"""Writing rows of tensors from arrays or tensors, without a temporary on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from utils.buffers.place import Place
from utils.uploads import upload, upload_into


class RowWriter:
    """Writes rows of one tensor in any place."""

    def __init__(self, rows: Tensor, place: Place) -> None:
        """Take a tensor of which rows will be written, and where it lies."""
        self._rows = rows
        # An indexed write of a tensor costs several times as much as NumPy's.
        self._view = rows.numpy() if place.is_ordinary else None

    def write(self, row: Any, values: Any) -> None:
        """Copy `values` into `rows[row]`, with the dtype of the rows.

        Args:
            row: A number, an array of them, or a tuple of a number and an array.
            values: Array, tensor on any device, or one number for all.
        """
        if self._view is not None:
            self._view[row] = values.numpy(force=True) if isinstance(values, Tensor) else values
            return
        if isinstance(row, tuple):
            rows, row = self._rows[row[0]], row[1]
        else:
            rows = self._rows
        if not isinstance(row, np.ndarray):
            self._copy(rows[row], values)
            return
        device = rows.device
        rows[upload(row, device)] = upload(values, device, rows.dtype)

    @staticmethod
    def _copy(target: Tensor, values: Any) -> None:
        if isinstance(values, int | float):
            target.fill_(values)
        else:
            upload_into(target, values)
