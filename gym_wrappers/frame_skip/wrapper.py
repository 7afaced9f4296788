"""Repeats each action for several steps of the environment."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec
from typing_extensions import override

from utils.errors import ConfigError

_OWN_ARGUMENTS = ("frameskip", "frame_skip", "action_repeat")


class FrameSkip(gym.Wrapper):
    """Takes each action `skip` times, adds up the rewards and shows the last observation.

    It stops where the episode ends. A step of the learner is `skip` steps of the environment, so
    the limit that its spec names is divided by `skip`, rounded up.
    """

    def __init__(self, env: gym.Env, *, skip: int) -> None:
        """Wrap `env`.

        Args:
            env: The environment; it skips nothing itself.
            skip: Steps of the environment for each action, >= 2.

        Raises:
            ConfigError: `skip` does nothing or is no number, the environment skips already, or a
                wrapper below changes rewards, whose true sum would be lost.
        """
        super().__init__(env)
        if not isinstance(skip, int) or isinstance(skip, bool) or skip < 2:
            raise ConfigError(
                f"env_wrappers: FrameSkip: skip must be a whole number >= 2, got {skip!r}"
            )
        _refuse_another_skip(env)
        self._skip = skip
        self._own_spec: EnvSpec | None = None

    @property
    @override
    def spec(self) -> EnvSpec | None:
        if self._own_spec is None and self.env.spec is not None:
            spec = copy.copy(self.env.spec)
            if spec.max_episode_steps is not None:
                spec.max_episode_steps = -(-spec.max_episode_steps // self._skip)
            self._own_spec = spec
        return self._own_spec

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        total = 0.0
        for _ in range(self._skip):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info


def _refuse_another_skip(env: gym.Env) -> None:
    inner = env
    while isinstance(inner, gym.Wrapper):
        name = type(inner).__name__
        if isinstance(inner, FrameSkip):
            raise ConfigError("env_wrappers: FrameSkip is there twice: multiply the two numbers")
        if getattr(type(inner), "changes_reward", False):
            raise ConfigError(
                f"env_wrappers: put FrameSkip before {name}: it adds up rewards, and {name} has "
                "changed them already"
            )
        inner = inner.env
    # What an environment does unasked is none of its spec's arguments.
    unasked = {"frame_skip": getattr(env.unwrapped, "frames_per_step", 1)}
    arguments = unasked | ({} if env.spec is None else env.spec.kwargs)
    for name in _OWN_ARGUMENTS:
        if arguments.get(name, 1) != 1:
            raise ConfigError(
                f"env_wrappers: FrameSkip: {_name(env)} skips already ({name} "
                f"{arguments[name]}): set env_kwargs.{name} instead"
            )


def _name(env: gym.Env) -> str:
    return type(env.unwrapped).__name__ if env.spec is None else env.spec.id
