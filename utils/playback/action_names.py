"""What the actions of an environment are called, and which of them a mask allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np


def action_labels(
    space: gym.Space, spec_labels: Sequence[str], env: gym.Env | None
) -> tuple[str, ...]:
    """Return a name for each choice (Discrete), value (MultiDiscrete), bit or entry of an action.

    The environment's own names come first, as they follow its settings; then those of the config,
    where they are as many as there are actions; then numbers.

    Args:
        space: Of one environment, as its wrappers leave it.
        spec_labels: The config's `spec.action.labels`.
        env: The environment; None where it lives in another process.
    """
    n_names = _count_names(space)
    for names in (_own_names(space, env), spec_labels):
        if len(names) == n_names:
            return tuple(names)
    if isinstance(space, gym.spaces.MultiDiscrete):
        is_named = len(spec_labels) == len(space.nvec)
        parts = spec_labels if is_named else [f"part {k + 1}" for k in range(len(space.nvec))]
        return tuple(
            f"{part}: {value}"
            for part, size in zip(parts, space.nvec, strict=True)
            for value in range(int(size))
        )
    word = {gym.spaces.Discrete: "action", gym.spaces.MultiBinary: "bit"}.get(type(space), "entry")
    return tuple(f"{word} {k}" for k in range(n_names))


def env_keys(space: gym.Space, env: gym.Env | None) -> Mapping[Any, Any] | None:
    """Return the environment's own keys, where it has some and no wrapper changes its actions."""
    if env is None or env.unwrapped.action_space != space:
        return None
    read = getattr(env.unwrapped, "get_keys_to_action", None)
    return None if read is None else read()


def is_allowed(action: np.ndarray, mask: np.ndarray | None, space: gym.Space) -> bool:
    """Say whether a mask allows an action.

    Args:
        action: As the policy counts, from 0.
        mask: (n,) bool; None allows everything.
        space: Of one environment.
    """
    if mask is None:
        return True
    if isinstance(space, gym.spaces.MultiBinary):
        return bool((mask | (np.ravel(action) == 0)).all())
    sizes = space.nvec if isinstance(space, gym.spaces.MultiDiscrete) else [len(mask)]
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    return bool(mask[starts + np.ravel(action)].all())


def describe_action(action: np.ndarray, labels: Sequence[str], space: gym.Space) -> str:
    """Return an action in words: names of choices, or the numbers that the environment gets."""
    match space:
        case gym.spaces.Discrete():
            return labels[int(action)]
        case gym.spaces.MultiDiscrete():
            bounds = pairwise(np.concatenate([[0], np.cumsum(space.nvec)]).tolist())
            return ", ".join(
                labels[begin + int(value)] for (begin, _), value in zip(bounds, action, strict=True)
            )
        case gym.spaces.MultiBinary():
            names = [name for name, bit in zip(labels, action, strict=True) if bit]
            return " and ".join(names) or "nothing"
    values = np.ravel(np.clip(action, space.low, space.high))
    return " ".join(f"{name} {value:+.2f}" for name, value in zip(labels, values, strict=True))


def _own_names(space: gym.Space, env: gym.Env | None) -> Sequence[str]:
    if env is None or not isinstance(space, gym.spaces.Discrete):
        return ()
    read = getattr(env.unwrapped, "get_action_meanings", None)
    return () if read is None or env.unwrapped.action_space != space else read()


def _count_names(space: gym.Space) -> int:
    if isinstance(space, gym.spaces.Discrete):
        return int(space.n)
    if isinstance(space, gym.spaces.MultiDiscrete):
        return int(space.nvec.sum())
    return int(np.prod(space.shape))
