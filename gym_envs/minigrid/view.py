"""Views of a MiniGrid environment: numbers for an MLP, or pictures for a CNN."""

from __future__ import annotations

import contextlib
import difflib
import io
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX, STATE_TO_IDX
from typing_extensions import override

from utils.errors import ConfigError

VIEWS = ("one_hot", "symbols", "rgb_partial", "rgb")
N_DIRECTIONS = 4
TILE_SIZE = 8
"""Pixels on a side of one cell in the pictures."""
_SIZES = (len(OBJECT_TO_IDX), len(COLOR_TO_IDX), len(STATE_TO_IDX))


class MiniGridView(gym.Wrapper):
    """Gives one array instead of a dictionary of grid, direction and mission.

    The agent sees a square of cells before it (7 x 7 unless the environment says otherwise); a
    cell is three small numbers, object, colour and state. They are no brightness, so nothing
    scales them. The mission, a sentence, is left out.

    - `one_hot`: each of the numbers, and the direction of the agent, as a group of 0s and a 1;
      float32 (7 * 7 * 20 + 4,), for an MLP.
    - `symbols`: the numbers as they are, and the direction as a group; float32 (7 * 7 * 3 + 4,).
    - `rgb_partial`: a picture of the same square; uint8 (56, 56, 3), for a CNN.
    - `rgb`: a picture of the whole grid, 8 pixels a cell; uint8.
    """

    def __init__(self, env: gym.Env, *, observation: str = "one_hot") -> None:
        """Wrap `env`.

        Args:
            env: A MiniGrid or BabyAI environment.
            observation: One of `VIEWS`.

        Raises:
            ConfigError: There is no such view.
        """
        super().__init__(env)
        if observation not in VIEWS:
            near = difflib.get_close_matches(str(observation), VIEWS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(VIEWS)}"
            raise ConfigError(f"env_kwargs: there is no observation '{observation}'; {hint}")
        # Levels whose mission is drawn print every draw that they reject.
        self._prints = hasattr(env.unwrapped, "fixed_max_steps")
        shape = env.observation_space["image"].shape
        if observation == "one_hot":
            self._prepare_groups(shape)
        elif observation == "symbols":
            self._prepare_symbols(shape)
        else:
            self._prepare_pictures(is_partial=observation == "rgb_partial")

    def _prepare_groups(self, shape: tuple[int, ...]) -> None:
        n_cells = shape[0] * shape[1]
        starts = np.cumsum([0, *_SIZES[:-1]])
        cells = np.arange(n_cells).reshape(*shape[:2], 1) * sum(_SIZES)
        self._places = cells + starts  # of the value 0 of each number of each cell
        self._n_image = n_cells * sum(_SIZES)
        self.observation_space = spaces.Box(0, 1, (self._n_image + N_DIRECTIONS,), np.float32)
        self._view = self._view_groups

    def _prepare_symbols(self, shape: tuple[int, ...]) -> None:
        high = np.ones(int(np.prod(shape)) + N_DIRECTIONS, np.float32)
        self._n_image = len(high) - N_DIRECTIONS
        high[: self._n_image] = np.tile(np.array(_SIZES) - 1, self._n_image // 3)
        self.observation_space = spaces.Box(np.zeros_like(high), high, dtype=np.float32)
        self._view = self._view_symbols

    def _prepare_pictures(self, *, is_partial: bool) -> None:
        core = self.env.unwrapped
        cells = (core.agent_view_size,) * 2 if is_partial else (core.height, core.width)
        shape = (cells[0] * TILE_SIZE, cells[1] * TILE_SIZE, 3)
        self._is_partial = is_partial
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)
        self._view = self._view_picture

    @override
    def reset(self, **kwargs: Any) -> tuple[np.ndarray, dict[str, Any]]:
        with contextlib.ExitStack() as stack:
            if self._prints:
                stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            observation, info = self.env.reset(**kwargs)
        return self._view(observation), info

    @override
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._view(observation), reward, terminated, truncated, info

    def _view_groups(self, observation: dict[str, Any]) -> np.ndarray:
        row = np.zeros(self.observation_space.shape, np.float32)
        row[self._places + observation["image"]] = 1
        row[self._n_image + observation["direction"]] = 1
        return row

    def _view_symbols(self, observation: dict[str, Any]) -> np.ndarray:
        row = np.zeros(self.observation_space.shape, np.float32)
        row[: self._n_image] = observation["image"].reshape(-1)
        row[self._n_image + observation["direction"]] = 1
        return row

    def _view_picture(self, observation: dict[str, Any]) -> np.ndarray:  # noqa: ARG002 - drawn anew
        return self.env.unwrapped.get_frame(
            highlight=True, tile_size=TILE_SIZE, agent_pov=self._is_partial
        )
