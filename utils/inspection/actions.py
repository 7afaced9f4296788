"""What can be chosen in an action space, what it is called, and choices that a person makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from utils.errors import UserError


def describe_actions(
    space: gym.Space, *, labels: Sequence[str] = (), meanings: Sequence[str] = ()
) -> dict[str, Any]:
    """Say what a policy can choose, as JSON holds it.

    Names of another number than there are choices belong to another set of actions and are left
    out: numbers stand in, those that the environment is sent.

    Args:
        space: The single action space.
        labels: As the config names the choices, in order.
        meanings: As the environment itself does, which follows its settings and so counts first.

    Returns:
        `kind` (discrete, multi_discrete, multi_binary or box). Of choices `groups`, each with
        `name` and `labels`; of numbers `labels`, `low` and `high` (None where there is no bound).
    """
    match space:
        case gym.spaces.Discrete():
            values = range(int(space.start), int(space.start + space.n))
            names = _fitting(meanings, labels, size=len(values)) or list(map(str, values))
            return {"kind": "discrete", "groups": [{"name": "", "labels": names}]}
        case gym.spaces.MultiDiscrete():
            sizes, starts = space.nvec.tolist(), space.start.tolist()
            titles = _fitting(labels, size=len(sizes)) or [f"part {k}" for k in range(len(sizes))]
            groups = [
                {"name": title, "labels": [str(start + k) for k in range(size)]}
                for title, size, start in zip(titles, sizes, starts, strict=True)
            ]
            return {"kind": "multi_discrete", "groups": groups}
        case gym.spaces.MultiBinary():
            size = math.prod(space.shape)
            names = _fitting(meanings, labels, size=size) or [f"bit {k}" for k in range(size)]
            return {"kind": "multi_binary", "groups": [{"name": "", "labels": names}]}
        case gym.spaces.Box():
            size = math.prod(space.shape)
            names = _fitting(labels, size=size) or [f"action {k}" for k in range(size)]
            low, high = (_bounds(bound) for bound in (space.low, space.high))
            return {"kind": "box", "labels": names, "low": low, "high": high}
    raise AssertionError(space)


def _fitting(*candidates: Sequence[str], size: int) -> list[str] | None:
    return next((list(names) for names in candidates if len(names) == size), None)


def _bounds(bound: np.ndarray) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in bound.reshape(-1)]


def read_choice(values: Any, space: gym.Space, *, mask: np.ndarray | None) -> tuple[float, ...]:
    """Check an action that a person has chosen.

    Args:
        values: A list of numbers as policies choose them, flat: counting from 0, or unclipped.
        space: The single action space.
        mask: (n,) bool, which choices the state allows; None without action masks.

    Returns:
        The numbers.

    Raises:
        UserError: It is no action of the space, or not allowed in that state.
    """
    size = 1 if isinstance(space, gym.spaces.Discrete) else math.prod(space.shape)
    is_numbers = isinstance(values, list) and all(
        isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x) for x in values
    )
    if not is_numbers or len(values) != size:
        raise UserError(f"an action of {space} takes {size} finite numbers, not {values!r}"[:200])
    if isinstance(space, gym.spaces.Box):
        return tuple(float(x) for x in values)
    _check_choices(values, space, mask)
    return tuple(float(x) for x in values)


def _check_choices(values: list[float], space: gym.Space, mask: np.ndarray | None) -> None:
    is_bits = isinstance(space, gym.spaces.MultiBinary)
    if isinstance(space, gym.spaces.Discrete):
        sizes = [int(space.n)]
    else:
        sizes = [2] * len(values) if is_bits else space.nvec.tolist()
    first = 0
    for k, (value, n) in enumerate(zip(values, sizes, strict=True)):
        if value != int(value) or not 0 <= value < n:
            raise UserError(f"choice {k} of the action must be one of 0 to {n - 1}, not {value:g}")
        if mask is not None:
            is_allowed = mask[k] or value == 0 if is_bits else mask[first + int(value)]
            if not is_allowed:
                raise UserError("this state does not allow that action (action mask)")
        first += n


def as_policy_action(values: Sequence[float], space: gym.Space) -> np.ndarray:
    """Return flat numbers as one action of a policy: int64 () or (K,), or float32 of the shape."""
    if isinstance(space, gym.spaces.Box):
        return np.array(values, np.float32).reshape(space.shape)
    shape = () if isinstance(space, gym.spaces.Discrete) else space.shape
    return np.array(values, np.int64).reshape(shape)
