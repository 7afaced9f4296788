"""Copies from ordinary memory to a device by way of memory that the device can read itself."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def upload(
    values: np.ndarray | Tensor, device: torch.device, dtype: torch.dtype | None = None
) -> Tensor:
    """Return values as a tensor on a device; on the CPU they share memory if they can.

    From ordinary memory a GPU can only be given what the host hands over piece by piece, after all
    that the GPU still has to do. Page-locked memory it fetches in its own time; torch keeps such
    memory and gives none of it out again before it has been read.

    Args:
        values: Array or tensor anywhere, with any strides; may be overwritten afterwards.
        device: Where it shall be.
        dtype: That it shall have; its own if None.
    """
    source = torch.as_tensor(values).detach()
    if device.type != "cuda" or source.is_cuda:
        return source.to(device, dtype or source.dtype, non_blocking=True)
    return _stage(source, dtype or source.dtype).to(device, non_blocking=True)


def upload_into(target: Tensor, values: np.ndarray | Tensor) -> None:
    """Copy values into a tensor on a device, in its dtype; see `upload`.

    Args:
        target: Anywhere; of the shape of the values.
        values: Array or tensor anywhere, with any strides; may be overwritten afterwards.
    """
    source = torch.as_tensor(values).detach()
    if target.is_cuda and not source.is_cuda:
        source = _stage(source, target.dtype)
    target.copy_(source, non_blocking=True)


def _stage(source: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a tensor of the CPU as one in page-locked memory."""
    staged = torch.empty(source.shape, dtype=dtype, pin_memory=True)
    return staged.copy_(source)
