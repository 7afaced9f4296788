"""Repeats the last action now and then, whatever the learner chooses."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
from gymnasium.utils import seeding
from typing_extensions import override

from gym_wrappers.allowed_actions import is_allowed
from utils.errors import ConfigError

_OWN_ARGUMENT = "repeat_action_probability"


class StickyActions(gym.Wrapper):
    """Takes the action of the step before instead of the chosen one with some probability.

    Machado et al. 2018, "Revisiting the Arcade Learning Environment", section 5.1, with 0.25. What
    sticks is what was carried out, so an action can stick several times. Random numbers come from
    the environment's own `np_random`, which is seeded by its reset and saved with a run: the same
    seed gives the same episode, and a resumed run goes on with it.

    Differs: the first step of an episode has no action before it and carries out what was chosen;
    so does a step whose state does not allow the last action, by `info["action_mask"]`.
    """

    def __init__(self, env: gym.Env, *, probability: float = 0.25) -> None:
        """Wrap `env`.

        Args:
            env: The environment; no game of Atari or Retro, for these have it built in.
            probability: That the last action is repeated, in (0, 1).

        Raises:
            ConfigError: The probability is out of range, or the environment repeats by itself.
        """
        super().__init__(env)
        if not 0.0 < probability < 1.0:
            raise ConfigError(
                f"env_wrappers: StickyActions: probability must be in (0, 1), got {probability}"
            )
        arguments = {} if env.spec is None else env.spec.kwargs
        core = env.unwrapped
        if _OWN_ARGUMENT in arguments or hasattr(core, _OWN_ARGUMENT):
            name = type(core).__name__ if env.spec is None else env.spec.id
            raise ConfigError(
                f"env_wrappers: StickyActions: {name} repeats actions itself: set "
                "env_kwargs.repeat_action_probability instead"
            )
        self._probability = probability
        self._last: Any = None
        self._info: dict[str, Any] = {}

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        sticks = self.unwrapped.np_random.random() < self._probability
        can_stick = self._last is not None and is_allowed(
            self._last, self._info, self.env.action_space
        )
        if not (sticks and can_stick):
            self._last = copy.copy(action)
        result = self.env.step(self._last)
        self._info = result[-1]
        return result

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._last = None
        result = self.env.reset(seed=seed, options=options)
        self._info = result[1]
        core = self.unwrapped
        if seed is not None and core.np_random_seed != seed:  # it draws from elsewhere
            core.np_random = seeding.np_random(seed)[0]
        return result
