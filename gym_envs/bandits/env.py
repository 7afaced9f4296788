"""One bandit problem at a time, as an ordinary environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from gym_envs.bandits.picture import draw_picture
from gym_envs.bandits.settings import read_settings
from gym_envs.bandits.table import BanditTable, observation_space

RENDER_FPS = 10


def draw_key(generator: np.random.Generator) -> np.uint64:
    """Draw what decides an episode."""
    return generator.integers(2**64, dtype=np.uint64)


class BanditEnv(gym.Env):
    """Every episode is a new bandit problem; an action pulls an arm.

    The episode terminates at its horizon: the problem ends there, so nothing beyond it has a
    value. The info of each step holds `episode_metrics` of the episode so far: `regret` and
    `optimal_share`, see `BanditTable`. They tell of the hidden means and are not for learners.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": RENDER_FPS}  # noqa: RUF012

    def __init__(self, *, render_mode: str | None = None, **settings: Any) -> None:
        """Describe the problems.

        Args:
            render_mode: "rgb_array" or None.
            **settings: As in `BanditSettings`.

        Raises:
            ConfigError: A setting is out of range or without effect.
        """
        self.settings = read_settings(settings)
        self.render_mode = render_mode
        self.observation_space = observation_space(self.settings)
        self.action_space = gym.spaces.Discrete(self.settings.n_arms)
        self.max_episode_steps = self.settings.horizon
        self._table = BanditTable(self.settings, 1)
        self._rows = np.zeros(1, dtype=np.int64)

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._table.begin(self._rows, np.array([draw_key(self.np_random)]))
        return self._table.observe()[0], {}

    @override
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        table = self._table
        reward = float(table.pull(np.array([action], dtype=np.int64))[0])
        metrics = {name: float(column[0]) for name, column in table.episode_metrics().items()}
        is_over = bool(table.is_over()[0])
        return table.observe()[0], reward, is_over, False, {"episode_metrics": metrics}

    @override
    def render(self) -> np.ndarray:
        """Return the arms as a picture, (H, W, 3) uint8."""
        return draw_picture(self._table)
