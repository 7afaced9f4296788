"""What a policy sees, for people: named numbers, and pictures as a network reads them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from utils.playback.observation_names import frame_names, name_numbers
from utils.spaces import is_picture
from utils.vector_envs import InProcessVectorEnv

Observation = np.ndarray | dict[str, np.ndarray]

MOST_NUMBERS = 1024
"""Numbers of one observation that are kept, the first ones; more cannot be looked at."""
_SMALLEST_SIDE = 160  # pixels; smaller pictures are enlarged, each pixel to a square
_GAP = 4
_BACKDROP = 128
_N_COLOURS = 3


class ObservationReader:
    """Reads observations of one vector environment row by row.

    Attributes:
        describe: `labels` of the numbers in order, `value_labels` where the only number is one of
            a few named values, `n_left_out` numbers beyond the limit, `description`.
        view: None without pictures; else `width` and `height` of what `picture` draws in pixels,
            and `titles` of its columns, oldest first.
    """

    def __init__(
        self, env: InProcessVectorEnv, *, labels: Sequence[str] = (), description: str = ""
    ) -> None:
        """Read the spaces of `env`.

        Args:
            env: Its observations will be read.
            labels: As the config names the numbers of one observation, in order.
            description: What they mean.
        """
        parts = [(steps.leaf.key, steps.space, steps.frame_stack) for steps in env.leaf_steps]
        self._pictures = [part for part in parts if is_picture(part[1])]
        self._numbers = [part for part in parts if not is_picture(part[1])]
        names = [
            name
            for key, space, n_frames in self._numbers
            for name in name_numbers(
                key, space, n_frames, labels if len(self._numbers) == 1 else ()
            )
        ]
        space = self._numbers[0][1] if len(self._numbers) == 1 else None
        has_values = isinstance(space, gym.spaces.Discrete) and len(labels) == space.n
        self.describe: dict[str, Any] = {
            "labels": names[:MOST_NUMBERS],
            "value_labels": list(labels) if has_values else [],
            "n_left_out": max(0, len(names) - MOST_NUMBERS),
            "description": description,
        }
        self.view = self._lay_out() if self._pictures else None

    def read(self, observation: Observation) -> np.ndarray:
        """Return the numbers of row 0, (D,) float32, an array of its own."""
        parts = [_leaf(observation, key)[0].reshape(-1) for key, _, _ in self._numbers]
        if not parts:
            return np.empty(0, np.float32)
        return np.concatenate(parts).astype(np.float32)[:MOST_NUMBERS]

    def digest(self, observation: Observation) -> int:
        """Return a checksum of all bytes of row 0."""
        total = 0
        for key, _, _ in (*self._numbers, *self._pictures):
            total = zlib.crc32(np.ascontiguousarray(_leaf(observation, key)[0]).tobytes(), total)
        return total

    def picture(self, observation: Observation) -> np.ndarray:
        """Draw the pictures of row 0: a row for each, a column for each stacked frame.

        Returns:
            (H, W, 3) uint8 with the very pixels that the network reads, enlarged where small.
        """
        assert self.view is not None
        canvas = np.full((self.view["height"], self.view["width"], 3), _BACKDROP, np.uint8)
        top = 0
        for key, space, n_frames in self._pictures:
            left = 0
            for tile in _tiles(_leaf(observation, key)[0], n_frames, _scale(space)):
                height, width = tile.shape[:2]
                canvas[top : top + height, left : left + width] = tile
                left += width + _GAP
            top += height + _GAP
        return canvas

    def _lay_out(self) -> dict[str, Any]:
        rows, titles = [], []
        for _, space, n_frames in self._pictures:
            channels, height, width = space.shape
            per_frame = channels // n_frames
            n_tiles = n_frames * (1 if per_frame == _N_COLOURS else per_frame)
            scale = _scale(space)
            rows.append((height * scale, n_tiles * (width * scale + _GAP) - _GAP))
            if n_tiles == n_frames and n_frames > len(titles):
                titles = frame_names(n_frames)
        return {
            "width": max(width for _, width in rows),
            "height": sum(height + _GAP for height, _ in rows) - _GAP,
            "titles": titles,
        }


def _leaf(observation: Observation, key: str) -> np.ndarray:
    return observation[key] if isinstance(observation, dict) else observation


def _scale(space: gym.Space) -> int:
    return max(1, -(-_SMALLEST_SIDE // min(space.shape[1:])))


def _tiles(stacked: np.ndarray, n_frames: int, scale: int) -> list[np.ndarray]:
    """Cut (C, H, W) into (H, W, 3) pictures, oldest first: colours together, else each channel."""
    per_frame = stacked.shape[0] // n_frames
    size = _N_COLOURS if per_frame == _N_COLOURS else 1
    tiles = []
    for first in range(0, stacked.shape[0], size):
        tile = np.broadcast_to(
            stacked[first : first + size], (_N_COLOURS, *stacked.shape[1:])
        ).transpose(1, 2, 0)
        tiles.append(tile.repeat(scale, axis=0).repeat(scale, axis=1))
    return tiles
