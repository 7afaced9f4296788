"""Which observation and action spaces are supported, and how nested ones become flat leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from utils.errors import ConfigError

SINGLE = ""  # the key of the only leaf where the observation is one array

_LEAVES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of an observation.

    Attributes:
        key: Its name: `SINGLE` where the observation is one array, else keys joined with ".".
        path: The keys and positions that lead to it from the environment's observation.
        space: Its space as the environment declares it.
    """

    key: str
    path: tuple[Any, ...]
    space: gym.Space

    def read(self, observation: Any) -> Any:
        """Return this leaf's value out of an environment's observation."""
        for step in self.path:
            observation = observation[step]
        return observation


def flatten_leaves(space: gym.Space, *, env_id: str) -> tuple[Leaf, ...]:
    """Return the leaves of an observation space, in sorted key order.

    Args:
        space: The environment's observation space. Dict and Tuple may nest.
        env_id: Named in the error.

    Raises:
        ConfigError: A leaf is of a kind that is not supported; it is named.
    """
    leaves = tuple(sorted(_walk(space, ()), key=lambda leaf: leaf.key))
    keys = [leaf.key for leaf in leaves]
    assert len(set(keys)) == len(keys), keys
    refused = [leaf for leaf in leaves if not isinstance(leaf.space, _LEAVES)]
    if refused:
        names = ", ".join(
            f"{type(leaf.space).__name__}" + (f" at '{leaf.key}'" if leaf.key else "")
            for leaf in refused
        )
        raise ConfigError(
            f"{env_id}: observations of kind {names} are not supported "
            "(supported: Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of them); "
            "remove or convert them with a wrapper under env_wrappers"
        )
    return leaves


def _walk(space: gym.Space, path: tuple[Any, ...]) -> Iterator[Leaf]:
    if isinstance(space, spaces.Dict):
        for key in sorted(space.spaces):
            yield from _walk(space.spaces[key], (*path, key))
    elif isinstance(space, spaces.Tuple):
        for position, child in enumerate(space.spaces):
            yield from _walk(child, (*path, position))
    else:
        yield Leaf(key=".".join(map(str, path)), path=path, space=space)


def stored_space(space: gym.Space) -> gym.Space:
    """Return the space of a leaf as it is stored: float64 becomes float32, integers int64.

    Args:
        space: A Box, Discrete, MultiDiscrete or MultiBinary space.
    """
    if isinstance(space, spaces.Box):
        if space.dtype != np.float64:
            return space
        with np.errstate(over="ignore"):
            low, high = space.low.astype(np.float32), space.high.astype(np.float32)
        return spaces.Box(low, high, dtype=np.float32)
    if isinstance(space, spaces.Discrete):
        return spaces.Discrete(int(space.n), start=int(space.start))
    if isinstance(space, spaces.MultiDiscrete):
        return spaces.MultiDiscrete(space.nvec, dtype=np.int64, start=space.start)
    return space


def combine_spaces(named: dict[str, gym.Space]) -> gym.Space:
    """Return one observation space for named leaves: the leaf itself, or a flat Dict."""
    if set(named) == {SINGLE}:
        return named[SINGLE]
    return spaces.Dict(named)


def check_action_space(space: gym.Space, *, env_id: str) -> None:
    """Refuse an action space that no policy here can act in.

    Raises:
        ConfigError: The space is not Discrete, MultiDiscrete, MultiBinary or Box.
    """
    if not isinstance(space, _LEAVES):
        raise ConfigError(
            f"{env_id}: actions of kind {type(space).__name__} are not supported "
            "(supported: Discrete, MultiDiscrete, MultiBinary, Box)"
        )
