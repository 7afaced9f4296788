"""Masks of environments, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor


def to_mask(flags: Any) -> np.ndarray:
    """Return flags (N,) bool, an array or a tensor on any device, as an array."""
    flags = flags.numpy(force=True) if isinstance(flags, Tensor) else np.asarray(flags)
    assert flags.dtype == bool, flags.dtype
    return flags
