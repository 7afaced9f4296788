"""Writing rows of tensors from arrays or tensors, without a temporary on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.buffers.place import Place


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
        device = self._rows.device
        values = torch.as_tensor(values).detach().to(device, self._rows.dtype, non_blocking=True)
        if isinstance(row, tuple):
            rows, row = self._rows[row[0]], row[1]
        else:
            rows = self._rows
        if isinstance(row, np.ndarray):
            row = torch.from_numpy(row).to(device, non_blocking=True)
        rows[row] = values
