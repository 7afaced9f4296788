"""A point on a plane, a disk in its way, and a line to cross behind it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

STEP_LENGTH = 0.2
"""How far an action of length 1 moves the point."""
RADIUS = 0.35
"""Of the disk."""
FINISH = 1.0
"""Height of the line to cross."""
_WALL = 1.5
_DISTANCE = 0.61
"""How far below the disk's middle the point begins: one step straight on, and it is too late."""
_START_WIDTH = 0.01
"""How far to the left or the right of the disk's middle the point begins, at most."""
_SIDE = 64
"""Pixels of a picture's side as an observation."""
_SCALE = 5
"""How many times larger a picture for people is."""
_GROUND, _DISK, _LINE, _POINT = (240, 240, 240), (190, 90, 80), (70, 160, 90), (50, 90, 180)


class ObstacleEnv(gym.Env):
    """A point starts below a disk and is to cross a line above it without touching the disk.

    It begins close below the disk and almost exactly under its middle: the left is as good a way as
    the right, one of them has to be taken at once, and their mean leads into the disk.

    Observation: Box (4,) float32, x and y of the point, then of the disk's middle. With `pixels` a
        picture (64, 64, 3) uint8.
    Action: Box (2,) float32, the step in x and y; 1 moves the point by 0.2. A step longer than
        that is shortened.
    Reward: 1 for crossing the line, 0 otherwise. The episode terminates there and at the disk.

    `info["episode_metrics"]` holds `is_success` and, of a success, `went_left`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 12}  # noqa: RUF012

    def __init__(self, *, pixels: bool = False, render_mode: str | None = None) -> None:
        """Describe the spaces; the first episode begins with `reset`.

        Args:
            pixels: Observe pictures.
            render_mode: "rgb_array" or None.
        """
        self.observation_space: gym.Space = (
            gym.spaces.Box(0, 255, (_SIDE, _SIDE, 3), np.uint8)
            if pixels
            else gym.spaces.Box(-2.0, 2.0, (4,), np.float32)
        )
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.render_mode = render_mode
        self._pixels = pixels
        self._position = np.zeros(2)
        self._disk = np.zeros(2)
        self._side = 0.0

    @property
    def position(self) -> np.ndarray:
        """(2,) x and y of the point."""
        return self._position.copy()

    @property
    def disk(self) -> np.ndarray:
        """(2,) x and y of the disk's middle."""
        return self._disk.copy()

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._disk = self.np_random.uniform(-0.3, 0.3, 2)
        offset = self.np_random.uniform(-_START_WIDTH, _START_WIDTH)
        self._position = self._disk + np.array([offset, -_DISTANCE])
        self._side = 0.0
        return self._observe(), {}

    @override
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        step = np.clip(np.asarray(action, np.float64), -1.0, 1.0)
        before, length = self._position, np.linalg.norm(step)
        self._position = before + step / max(1.0, length) * STEP_LENGTH
        self._position[0] = np.clip(self._position[0], -_WALL, _WALL)
        self._position[1] = max(self._position[1], -_WALL)
        if before[1] < self._disk[1] <= self._position[1]:
            self._side = self._position[0] - self._disk[0]
        is_hit = _nearest(before, self._position, self._disk) <= RADIUS
        is_there = not is_hit and bool(self._position[1] >= FINISH)
        told = {"is_success": float(is_there)}
        if is_there:
            told["went_left"] = float(self._side < 0)
        info = {"episode_metrics": told}
        return self._observe(), float(is_there), is_hit or is_there, False, info

    def _observe(self) -> np.ndarray:
        if self._pixels:
            return self._draw(_SIDE)
        return np.concatenate([self._position, self._disk]).astype(np.float32)

    @override
    def render(self) -> np.ndarray | None:
        """Return a picture of the plane, (H, W, 3) uint8, in the mode "rgb_array"."""
        return None if self.render_mode is None else self._draw(_SIDE * _SCALE)

    def _draw(self, side: int) -> np.ndarray:
        """Draw the plane from -1.5 to 1.5, y upwards, (side, side, 3) uint8."""
        axis = (np.arange(side) + 0.5) / side * 2 * _WALL - _WALL
        x, y = axis[None, :], -axis[:, None]
        frame = np.full((side, side, 3), _GROUND, np.uint8)
        frame[np.broadcast_to(np.abs(y - FINISH) < 0.03, (side, side))] = _LINE
        for centre, radius, colour in (
            (self._disk, RADIUS, _DISK),
            (self._position, 0.07, _POINT),
        ):
            frame[(x - centre[0]) ** 2 + (y - centre[1]) ** 2 <= radius**2] = colour
        return frame


def _nearest(start: np.ndarray, end: np.ndarray, point: np.ndarray) -> float:
    """Return how near a straight way from `start` to `end` comes to a point; (2,) each."""
    way = end - start
    share = np.dot(point - start, way) / max(float(np.dot(way, way)), 1e-12)
    return float(np.linalg.norm(start + np.clip(share, 0.0, 1.0) * way - point))
