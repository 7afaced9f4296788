"""Writing rows of tensors from arrays or tensors, without a temporary on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def write_row(rows: Tensor, row: Any, values: Any) -> None:
    """Copy `values` (...) into `rows[row]`, with the dtype of the rows.

    Args:
        rows: Any tensor.
        row: An index, or an array of them.
        values: Array or tensor, on any device.
    """
    if rows.device.type == "cpu":
        # An indexed write of a tensor costs several times as much as NumPy's.
        rows.numpy()[row] = values.numpy(force=True) if isinstance(values, Tensor) else values
        return
    if isinstance(row, np.ndarray):
        row = torch.from_numpy(row).to(rows.device, non_blocking=True)
    rows[row] = torch.as_tensor(values).to(rows.device, rows.dtype, non_blocking=True)
