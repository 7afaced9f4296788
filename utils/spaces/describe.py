"""Spaces as plain JSON, so that a run can say what it was trained on."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

_LONGEST = 80


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
        _difference(name, stored[name], now[name])
        for name in ("observation", "action")
        if stored[name] != now[name]
    ]


def _difference(name: str, stored: dict[str, Any], now: dict[str, Any]) -> str:
    before, after = _shorten(_brief(stored)), _shorten(_brief(now))
    if before != after:
        return f"the {name} space was {before} in training and is {after} now"
    changed = sorted(key for key in stored if stored[key] != now.get(key))
    return f"the {name} space is {after} as in training, but its {', '.join(changed)} differ"


def _brief(space: dict[str, Any]) -> str:
    """Write a description as `box(4)` or `discrete(2)`."""
    match space:
        case {"shape": shape}:
            inside = ", ".join(map(str, shape))
        case {"n": n}:
            inside = str(n)
        case {"sizes": sizes}:
            inside = ", ".join(map(str, sizes))
        case {"spaces": spaces}:
            inside = ", ".join(f"{key}: {_brief(part)}" for key, part in spaces.items())
        case _:
            raise AssertionError(space)
    return f"{space['kind']}({inside})"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
