"""The DeepMind Control Suite under ids such as `dm_control/walker-walk`."""

from __future__ import annotations

import logging
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from utils.environment.families import mujoco
from utils.environment.families.own_limit import make_with_own_limit


class _NoRootHandler(logging.Handler):
    """Does what logging does where the root logger has no handler.

    The suite notes what it does by a library (absl) that gives the root logger one where it has
    none, and the messages of a run, which have a place of their own, would come to the terminal
    twice.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record of warning or above, unless a logger below the root has shown it."""
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None and logger is not logging.root:
            if logger.handlers:
                return
            logger = logger.parent
        if logging.lastResort is not None and record.levelno >= logging.lastResort.level:
            logging.lastResort.handle(record)


def register() -> None:
    """Make the ids of the suite known to Gymnasium."""
    mujoco.prepare_process(renders=False)  # the suite chooses how to draw when it is imported
    if not logging.root.handlers:
        logging.root.addHandler(_NoRootHandler())
    from gym_envs.dm_control import register_suite

    register_suite()


def make(spec: EnvSpec, *, max_episode_steps: int | None, **kwargs: Any) -> gym.Env:
    """Build a task of the suite, with its own time limit or another one.

    Args:
        spec: Its registered spec.
        max_episode_steps: Limit in steps of the agent; None keeps the task's own.
        kwargs: As for `gymnasium.make`.

    Raises:
        ConfigError: Pictures are asked for and none can be drawn.
    """
    renders = kwargs.get("render_mode") is not None or bool(kwargs.get("from_pixels"))
    mujoco.prepare_process(renders=renders)
    return make_with_own_limit(spec, max_episode_steps=max_episode_steps, **kwargs)
