"""Between time-major rollouts and flat samples."""

from __future__ import annotations

from torch import Tensor


def flatten_env_major(field: Tensor) -> Tensor:
    """Flatten (T, N, ...) to (N * T, ...): all of environment 0 in time, then environment 1."""
    assert field.ndim >= 2, field.shape
    return field.transpose(0, 1).reshape(-1, *field.shape[2:])
