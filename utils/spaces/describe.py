"""Spaces as plain JSON, so that a run can say what it was trained on."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np


def space_to_dict(space: gym.Space) -> dict[str, Any]:
    """Describe a space in plain values; equal spaces give equal descriptions.

    Bounds that are the same everywhere are one number; infinities are the strings "inf", "-inf".
    """
    match space:
        case gym.spaces.Box():
            return {
                "kind": "box",
                "shape": list(space.shape),
                "dtype": str(space.dtype),
                "low": _bounds(space.low),
                "high": _bounds(space.high),
            }
        case gym.spaces.Discrete():
            return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
        case gym.spaces.MultiDiscrete():
            return {
                "kind": "multi_discrete",
                "sizes": space.nvec.tolist(),
                "start": space.start.tolist(),
            }
        case gym.spaces.MultiBinary():
            return {"kind": "multi_binary", "shape": list(space.shape)}
        case gym.spaces.Dict():
            parts = {key: space_to_dict(space[key]) for key in sorted(space.spaces)}
            return {"kind": "dict", "spaces": parts}
    raise AssertionError(f"no description for {space}")


def _bounds(values: np.ndarray) -> Any:
    def plain(x: float) -> float | str:
        return float(x) if np.isfinite(x) else str(float(x))

    unique = np.unique(values)
    if unique.size == 1:
        return plain(unique[0])
    return [plain(x) for x in values.reshape(-1)]


def spaces_differ(stored: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Compare two descriptions of {"observation": ..., "action": ...}; one line per difference."""
    return [
        f"{name} space was {stored[name]} in training and is {now[name]} now"
        for name in ("observation", "action")
        if stored[name] != now[name]
    ]
