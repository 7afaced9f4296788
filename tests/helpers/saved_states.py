"""Two checkpoints, compared bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from utils.checkpoints import load_checkpoint

# A clock decides these values of a checkpoint, and what was noted of metrics named `*/time/*`.
_CLOCK_VALUES = frozenset({"state.callbacks.DispatchMetrics.elapsed_seconds"})


def differences(first: Path, second: Path) -> list[str]:
    """Return the places at which two checkpoints differ in any bit."""
    return list(_differences(load_checkpoint(first), load_checkpoint(second), "state"))


def state_differences(first: Any, second: Any) -> list[str]:
    """Return the places at which two nested states differ in any bit."""
    return list(_differences(first, second, "state"))


def all_finite(state: Any) -> bool:
    """Say whether every number of a nested state is finite."""
    if isinstance(state, dict):
        return all(all_finite(value) for value in state.values())
    if isinstance(state, list | tuple):
        return all(all_finite(value) for value in state)
    if isinstance(state, torch.Tensor):
        return bool(torch.isfinite(state).all())
    if isinstance(state, float | np.ndarray):
        return bool(np.isfinite(state).all())
    return True


def _differences(first: Any, second: Any, where: str) -> list[str]:
    if where in _CLOCK_VALUES or _is_about_time(first):
        return []
    if type(first) is not type(second):
        return [f"{where}: {type(first).__name__} and {type(second).__name__}"]
    if isinstance(first, dict):
        if first.keys() != second.keys():
            return [f"{where}: keys {sorted(first.keys() ^ second.keys(), key=str)}"]
        return [d for k in first for d in _differences(first[k], second[k], f"{where}.{k}")]
    if isinstance(first, list | tuple):
        if len(first) != len(second):
            return [f"{where}: {len(first)} and {len(second)} items"]
        pairs = enumerate(zip(first, second, strict=True))
        return [d for i, (a, b) in pairs for d in _differences(a, b, f"{where}[{i}]")]
    if isinstance(first, torch.Tensor):
        first, second = first.numpy(), second.numpy()
    if isinstance(first, np.ndarray):
        is_equal = first.dtype == second.dtype and first.shape == second.shape
        is_equal = is_equal and first.tobytes() == second.tobytes()
    else:
        is_equal = repr(first) == repr(second)
    return [] if is_equal else [where]


def _is_about_time(value: Any) -> bool:
    return isinstance(value, dict) and "/time/" in str(value.get("metric"))
