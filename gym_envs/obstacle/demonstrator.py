"""Who shows the way round the obstacle: half the time by the left, half the time by the right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gym_envs.obstacle.env import RADIUS, ObstacleEnv

_CLEARANCE = RADIUS + 0.05
"""How far beside the disk's middle the way straight up begins."""
_UNSTEADINESS = 0.03
"""Standard deviation of what is added to each number of an action."""


def begin_demonstration(
    env: ObstacleEnv, generator: np.random.Generator
) -> Callable[[], np.ndarray]:
    """Choose a side for an episode that has just begun.

    Args:
        env: Has been reset.
        generator: Decides the side and how unsteady the hand is.

    Returns:
        What returns the action for the present state, (2,) float32 in [-1, 1], once a step.
    """
    side = 1.0 if generator.random() < 0.5 else -1.0

    def act() -> np.ndarray:
        is_beside = abs(env.position[0] - env.disk[0]) >= _CLEARANCE
        step = np.array([0.0, 1.0]) if is_beside else np.array([side, 1.0]) / np.sqrt(2.0)
        step += generator.normal(0.0, _UNSTEADINESS, 2)
        return np.clip(step, -1.0, 1.0).astype(np.float32)

    return act
