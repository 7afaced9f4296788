"""Two runs of one config, number by number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GPU_TOLERANCE = 1e-3
"""Relative, of metrics and weights of runs on a GPU, whose sums have no fixed order."""
_ABSOLUTE = 1e-6
_CLOCK = "/time/"
_NO_RESULT = frozenset({"callbacks"})
"""Parts of a checkpoint that hold clocks."""


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """One value that is not the same."""

    key: str
    stored: Any
    """None where only the other has it."""
    again: Any


@dataclass(frozen=True, slots=True)
class RowDifference:
    """The first epoch whose metrics are not the same."""

    epoch: int
    timesteps: int
    values: tuple[ValueDifference, ...]

    @property
    def is_of_update_alone(self) -> bool:
        """Whether what was collected and evaluated in that epoch is the same."""
        return not any("/roll/" in v.key or "/cnt/" in v.key for v in self.values)


def compare_rows(
    stored: Mapping[str, Any], again: Mapping[str, Any], *, tolerance: float
) -> RowDifference | None:
    """Compare the metrics of one epoch; clocks do not count.

    Args:
        stored: A row of metrics.jsonl.
        again: The row in its place of the run that was trained again.
        tolerance: Relative; 0 for bit for bit.

    Returns:
        None where all are the same.
    """
    keys = [key for key in (*stored, *again) if _CLOCK not in key]
    found = [
        ValueDifference(key, stored.get(key), again.get(key))
        for key in dict.fromkeys(keys)
        if not is_same(stored.get(key), again.get(key), tolerance=tolerance)
    ]
    if not found:
        return None
    return RowDifference(int(stored.get("epoch", 0)), int(stored.get("timesteps", 0)), tuple(found))


def is_same(stored: Any, again: Any, *, tolerance: float) -> bool:
    """Say whether two numbers are the same; what is not a number is the same as itself."""
    if isinstance(stored, float | int) and isinstance(again, float | int):
        if math.isnan(stored) or math.isnan(again):
            return math.isnan(stored) and math.isnan(again)
        if tolerance == 0.0 or math.isinf(stored) or math.isinf(again):
            return bool(stored == again)
        return abs(stored - again) <= _ABSOLUTE + tolerance * max(abs(stored), abs(again))
    return bool(stored == again)


def compare_states(
    stored: Mapping[str, Any], again: Mapping[str, Any], *, tolerance: float
) -> list[str]:
    """Return the places at which two checkpoints differ.

    Args:
        stored: Networks, optimisers, counters, environments, generators, as plain containers.
        again: Likewise.
        tolerance: Relative, of floating-point tensors; 0 for bit for bit. With a tolerance only
            networks and optimisers are compared: environments and generators have no near.
    """
    return list(_different(_parts(stored, tolerance), _parts(again, tolerance), "", tolerance))


def count_numbers(state: Any) -> int:
    """Return how many numbers a nested state holds in tensors."""
    if isinstance(state, Mapping):
        return sum(count_numbers(value) for value in state.values())
    if isinstance(state, list | tuple):
        return sum(count_numbers(value) for value in state)
    return int(state.numel()) if hasattr(state, "numel") else 0


def _parts(state: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
    left_out = set(_NO_RESULT)
    if tolerance:
        left_out |= {"generators", "source", "counters"}
    return {key: value for key, value in state.items() if key not in left_out}


def _different(stored: Any, again: Any, where: str, tolerance: float) -> Iterator[str]:
    if isinstance(stored, Mapping) and isinstance(again, Mapping):
        for key in dict.fromkeys((*stored, *again)):
            place = f"{where}.{key}" if where else str(key)
            if key not in stored or key not in again:
                yield place
            elif _CLOCK not in str(key):
                yield from _different(stored[key], again[key], place, tolerance)
    elif _is_sequence(stored) and _is_sequence(again) and len(stored) == len(again):
        for index, pair in enumerate(zip(stored, again, strict=True)):
            yield from _different(*pair, f"{where}[{index}]", tolerance)
    elif not _is_equal(stored, again, tolerance):
        yield where


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_equal(stored: Any, again: Any, tolerance: float) -> bool:
    import numpy as np
    import torch

    if isinstance(stored, torch.Tensor) and isinstance(again, torch.Tensor):
        if stored.dtype != again.dtype or stored.shape != again.shape:
            return False
        if tolerance and stored.is_floating_point():
            return torch.allclose(stored, again, rtol=tolerance, atol=_ABSOLUTE, equal_nan=True)
        left, right = stored.cpu().reshape(-1), again.cpu().reshape(-1)
        return bool(torch.equal(left.view(torch.uint8), right.view(torch.uint8)))
    if isinstance(stored, np.ndarray) and isinstance(again, np.ndarray):
        return (
            stored.dtype == again.dtype
            and stored.shape == again.shape
            and stored.tobytes() == again.tobytes()
        )
    if type(stored) is not type(again):
        return False
    return is_same(stored, again, tolerance=tolerance)
