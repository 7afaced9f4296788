"""Ends the learner's episode whenever a life is lost, while the game goes on."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from typing_extensions import override

from utils.errors import ConfigError


class EpisodicLife(gym.Wrapper):
    """Reports the loss of a life as a termination; only the end of the game resets the game.

    The environment tells the lives left in `info["lives"]` at every reset and step.

    Differs from Mnih et al. 2015: after a lost life no step is taken on the learner's behalf;
    the first observation of the next life is the one in which the life was lost, so that no
    reward and no step of the game goes unseen.
    """

    changes_termination = True

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.episode_over = True
        self._lives = 0
        self._latest: tuple[Any, dict[str, Any]] | None = None

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.episode_over = bool(terminated or truncated)
        lives = self._read_lives(info)
        has_lost = lives < self._lives
        self._lives = lives
        self._latest = (observation, info)
        return observation, float(reward), bool(terminated or has_lost), truncated, info

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if self.episode_over or self._latest is None or seed is not None:
            self._latest = self.env.reset(seed=seed, options=options)
            self._lives = self._read_lives(self._latest[1])
        return self._latest

    def _read_lives(self, info: dict[str, Any]) -> int:
        if "lives" not in info:
            raise ConfigError("env_wrappers: EpisodicLife needs an environment with info['lives']")
        return int(info["lives"])
