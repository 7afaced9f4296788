"""An environment to copy: a walker looks for the shortest way to a goal on a grid.

Everything that an environment of this project needs is here and nothing else. The guide
`VIBES/tasks/add_environment.md` says which files to copy and what to change in them.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import ConfigError

_STEPS = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])  # up, down, left, right: rows, columns
_STEP_REWARD, _GOAL_REWARD = -0.02, 1.0
_CELL_PIXELS = 24
_FLOOR, _LINE, _GOAL, _WALKER = (240, 240, 240), (205, 205, 205), (70, 160, 90), (50, 90, 180)


class ExampleEnv(gym.Env):
    """A walker on a square grid; the episode terminates when it stands on the goal.

    Observation: Box (4,) float32, row and column of the walker, then of the goal, each scaled to
        [0, 1].
    Action: Discrete(4), one cell up, down, left or right; at the edge it stays where it is.
    Reward: -0.02 for each step, and 1 more for the one that reaches the goal.

    The environment knows no time limit: the registration sets one, which truncates an episode
    from outside, and a config's `max_episode_steps` changes it.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012

    def __init__(self, *, size: int = 7, render_mode: str | None = None) -> None:
        """Describe the spaces; the first episode begins with `reset`.

        Args:
            size: Cells of a side, >= 2.
            render_mode: "rgb_array" or None.

        Raises:
            ConfigError: `size` is out of range.
        """
        if not isinstance(size, int) or isinstance(size, bool) or size < 2:
            raise ConfigError(f"env_kwargs: size must be a whole number >= 2, got {size!r}")
        self.observation_space = gym.spaces.Box(0.0, 1.0, (4,), np.float32)
        self.action_space = gym.spaces.Discrete(len(_STEPS))
        self.render_mode = render_mode
        self._size = size
        self._walker = np.zeros(2, dtype=np.int64)
        self._goal = np.zeros(2, dtype=np.int64)

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        # This seeds self.np_random. All random numbers come from it, and only from it: then a seed
        # decides the episode, and an interrupted run goes on with the same one.
        super().reset(seed=seed)
        walker, goal = self.np_random.choice(self._size**2, size=2, replace=False)
        self._walker = np.array(divmod(int(walker), self._size))
        self._goal = np.array(divmod(int(goal), self._size))
        return self._observe(), {}

    @override
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._walker = np.clip(self._walker + _STEPS[int(action)], 0, self._size - 1)
        is_there = bool((self._walker == self._goal).all())
        reward = _STEP_REWARD + (_GOAL_REWARD if is_there else 0.0)
        # terminated: nothing comes after this. truncated stays False: the time limit is outside.
        return self._observe(), reward, is_there, False, {}

    def _observe(self) -> np.ndarray:
        # A new array each time: who keeps an observation must not see it change.
        cells = np.concatenate([self._walker, self._goal])
        return (cells / (self._size - 1)).astype(np.float32)

    @override
    def render(self) -> np.ndarray | None:
        """Return a picture of the grid, (H, W, 3) uint8, in the mode "rgb_array"."""
        if self.render_mode is None:
            return None
        side = self._size * _CELL_PIXELS
        frame = np.full((side, side, 3), _FLOOR, dtype=np.uint8)
        frame[::_CELL_PIXELS] = _LINE
        frame[:, ::_CELL_PIXELS] = _LINE
        for (row, column), colour, margin in ((self._goal, _GOAL, 2), (self._walker, _WALKER, 6)):
            top, left = row * _CELL_PIXELS + margin, column * _CELL_PIXELS + margin
            width = _CELL_PIXELS - 2 * margin + 1
            frame[top : top + width, left : left + width] = colour
        return frame
