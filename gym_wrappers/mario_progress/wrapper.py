"""Rewards the way that Mario makes to the right, in Super Mario Bros. of stable-retro."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from typing_extensions import override

from utils.errors import ConfigError

_KEYS = ("xscrollHi", "xscrollLo", "levelHi", "levelLo", "lives")
_PAGE = 256  # pixels of a screen


class MarioProgress(gym.Wrapper):
    """Replaces the reward by new ground, finished levels and lost lives.

    The game's own reward adds up changes of one byte of the scroll position, which jumps back at
    every screen. Here the position is xscrollHi * 256 + xscrollLo in pixels, and only what lies
    beyond the farthest point of this life and level pays, so that going back and forth earns
    nothing. The raw return stays that of the game.

    Attributes:
        raw_reward: The game's own reward of the last step.
    """

    changes_reward = True

    def __init__(
        self,
        env: gym.Env,
        *,
        pixel_reward: float = 0.01,
        level_reward: float = 10.0,
        death_penalty: float = 1.0,
    ) -> None:
        """Wrap `Retro/SuperMarioBros-Nes` or another with the same info.

        Args:
            env: Its info holds xscrollHi, xscrollLo, levelHi, levelLo and lives.
            pixel_reward: Paid for each pixel of new ground.
            level_reward: Paid for each level that is entered after another.
            death_penalty: Taken for each life that is lost.
        """
        super().__init__(env)
        self._pixel_reward, self._level_reward = pixel_reward, level_reward
        self._death_penalty = death_penalty
        self._last: tuple[int, tuple[int, int]] | None = None
        self._farthest = 0
        self.raw_reward = 0.0

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.raw_reward = float(reward)
        return observation, self._pay(info), terminated, truncated, info

    def _pay(self, info: dict[str, Any]) -> float:
        missing = [key for key in _KEYS if key not in info]
        if missing:
            raise ConfigError(
                f"env_wrappers: MarioProgress needs info['{missing[0]}'], as SuperMarioBros-Nes "
                "gives it"
            )
        position = int(info["xscrollHi"]) * _PAGE + int(info["xscrollLo"])
        lives, level = int(info["lives"]), (int(info["levelHi"]), int(info["levelLo"]))
        # The info of a reset is empty: the first step says where the game begins.
        last_lives, last_level = self._last or (lives, level)
        is_known = self._last is not None
        self._last = (lives, level)
        if level != last_level or lives < last_lives or not is_known:
            self._farthest = position
            gained = self._level_reward if level > last_level else 0.0
            return gained - self._death_penalty * max(last_lives - lives, 0)
        new_ground = max(position - self._farthest, 0)
        self._farthest += new_ground
        return self._pixel_reward * new_ground

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._last = None
        return self.env.reset(seed=seed, options=options)
