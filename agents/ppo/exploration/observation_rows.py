"""Observations that may be a dict of parts: change or cut them all alike."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from utils.policies.actor_critic import Observation


def map_parts(observation: Observation, change: Callable[[Tensor], Tensor]) -> Observation:
    """Return `change` of the observation, or of each of its parts."""
    if isinstance(observation, dict):
        return {key: change(part) for key, part in observation.items()}
    return change(observation)


def cut(observation: Observation, rows: slice) -> Observation:
    """Return some rows of the observation, views."""
    return map_parts(observation, lambda part: part[rows])
