"""Offers the learner a list of chosen actions, as a smaller Discrete space."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from gym_wrappers.allowed_actions import is_allowed
from utils.errors import ConfigError


class ActionRemap(gym.Wrapper):
    """Makes action i the i-th of a list.

    Each entry is an action of the environment in one of these forms:
        Discrete: its number, or its name where the environment has `get_action_meanings()`.
        MultiBinary: a list of button names (of the environment's `buttons`; [] presses none), or
            a list of zeros and ones.
        MultiDiscrete, Box: a list of numbers.

    Where the environment tells which actions are allowed (`info["action_mask"]`), the mask is that
    of the list.
    """

    def __init__(self, env: gym.Env, *, actions: Sequence[Any]) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            actions: At least two different entries, as above.

        Raises:
            ConfigError: An entry is no action of the environment, or is there twice.
        """
        super().__init__(env)
        self._actions = [_read_action(entry, env) for entry in actions]
        if len(self._actions) < 2:
            raise _wrong(f"needs at least two actions, got {list(actions)}")
        as_lists = [np.asarray(action).tolist() for action in self._actions]
        for i, action in enumerate(as_lists):
            if action in as_lists[:i]:
                raise _wrong(f"{actions[i]} is there twice")
        self.action_space = gym.spaces.Discrete(len(self._actions))

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        inner = self._actions[int(action)]
        observation, reward, terminated, truncated, info = self.env.step(inner)
        return observation, float(reward), terminated, truncated, self._remap_mask(info)

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, self._remap_mask(info)

    def _remap_mask(self, info: dict[str, Any]) -> dict[str, Any]:
        if "action_mask" not in info:
            return info
        space = self.env.action_space
        allowed = [is_allowed(action, info, space) for action in self._actions]
        return {**info, "action_mask": np.array(allowed, np.int8)}

    def get_action_meanings(self) -> list[str]:
        """Return the names of the listed actions, where the environment has any."""
        meanings = self.env.get_wrapper_attr("get_action_meanings")()
        start = int(self.env.action_space.start)
        return [meanings[int(action) - start] for action in self._actions]


def _read_action(entry: Any, env: gym.Env) -> Any:
    space = env.action_space
    if isinstance(space, gym.spaces.Discrete):
        return _read_number(entry, env, space)
    if isinstance(entry, str) or not isinstance(entry, Sequence):
        raise _wrong(f"{entry!r} must be a list, for the actions are {space}")
    if isinstance(space, gym.spaces.MultiBinary) and all(isinstance(b, str) for b in entry):
        return _press(entry, env, space)
    action = np.array(entry, dtype=space.dtype)
    if not space.contains(action):
        raise _wrong(f"{entry} is not in {space}")
    return action


def _read_number(entry: Any, env: gym.Env, space: gym.spaces.Discrete) -> np.int64:
    if isinstance(entry, str):
        if not env.has_wrapper_attr("get_action_meanings"):
            raise _wrong(f"the actions have no names, so '{entry}' must be a number")
        names = list(env.get_wrapper_attr("get_action_meanings")())
        return np.int64(_find(entry, names, "action") + int(space.start))
    if not isinstance(entry, int) or isinstance(entry, bool) or not space.contains(entry):
        last = int(space.start + space.n - 1)
        raise _wrong(f"{entry!r} is no action: they are {space.start} to {last}")
    return np.int64(entry)


def _press(buttons: Sequence[str], env: gym.Env, space: gym.spaces.MultiBinary) -> np.ndarray:
    action = np.zeros(space.shape, dtype=space.dtype)
    if buttons and not env.has_wrapper_attr("buttons"):
        raise _wrong(f"the buttons have no names, so {list(buttons)} must be zeros and ones")
    for button in buttons:
        names = [str(name) for name in env.get_wrapper_attr("buttons")]
        action[_find(button, names, "button")] = 1
    return action


def _find(name: str, names: list[str], kind: str) -> int:
    upper = [str(known).upper() for known in names]
    if name.upper() in upper:
        return upper.index(name.upper())
    near = difflib.get_close_matches(name.upper(), upper, n=1)
    hint = f"did you mean {near[0]}?" if near else f"they are {', '.join(names)}"
    raise _wrong(f"there is no {kind} '{name}'; {hint}")


def _wrong(what: str) -> ConfigError:
    return ConfigError(f"env_wrappers: ActionRemap: {what}")
