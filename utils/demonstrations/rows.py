"""Observations of moments, gathered one by one."""

from __future__ import annotations

from typing import Any

import numpy as np


def copy_row(observation: Any, row: int) -> Any:
    """Return a copy of one row of an observation (N, ...), by key for a Dict."""
    if isinstance(observation, dict):
        return {key: part[row].copy() for key, part in observation.items()}
    return observation[row].copy()


def stack_rows(rows: list[Any]) -> Any:
    """Put observations of T moments together, (T, ...), by key for a Dict."""
    if isinstance(rows[0], dict):
        return {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    return np.stack(rows)
