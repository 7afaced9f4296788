"""How what a world model sees is shown to people: names of numbers, and sheets of pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from PIL import Image
from torch import Tensor

from utils.inspection.observations import name_numbers
from utils.spaces import is_picture
from utils.vector_envs import InProcessVectorEnv
from utils.world_models.observation_parts import Observation, ObservationParts

PER_ROW = 16
"""Pictures beside each other on a sheet: browsers refuse more than some 16,000 pixels."""
_GAP = 2
_BACKDROP = 128
_N_COLOURS = 3


def name_decoded_numbers(env: InProcessVectorEnv, labels: Sequence[str]) -> list[str]:
    """Name what a world model says of all that is no picture, in the order of its decoder.

    Args:
        env: Of the observations.
        labels: As the config names the numbers, or the values, of an observation of one part.
    """
    leaves = {steps.leaf.key: steps for steps in env.leaf_steps if not is_picture(steps.space)}
    known = labels if len(leaves) == 1 else ()
    numbers: list[str] = []
    choices: list[str] = []
    for key in sorted(leaves):
        space, n_frames = leaves[key].space, leaves[key].frame_stack
        if isinstance(space, gym.spaces.Discrete):
            values = range(int(space.start), int(space.start + space.n))
            words = known if len(known) == len(values) else values
            choices += [f"{key or 'state'} = {word}" for word in words]
            continue
        names = name_numbers(key, space, n_frames, known)
        if isinstance(space, gym.spaces.MultiDiscrete):
            sizes, starts = space.nvec.reshape(-1), space.start.reshape(-1)
            choices += [
                f"{name} = {start + k}"
                for name, size, start in zip(names, sizes, starts, strict=True)
                for k in range(size)
            ]
        else:
            numbers += names
    return numbers + choices


def draw_pictures(pictures: Sequence[Tensor]) -> np.ndarray:
    """Lay the pictures of each moment out side by side, colours together, else each channel.

    Args:
        pictures: (T, C, H, W) in [0, 1] of each part, one at least.

    Returns:
        (T, height, width, 3) uint8.
    """
    tiles = []
    for part in pictures:
        pixels = part.mul(255.0).round().clamp(0, 255).byte().permute(0, 2, 3, 1).cpu().numpy()
        channels = pixels.shape[-1]
        size = _N_COLOURS if channels % _N_COLOURS == 0 else 1
        tiles += [pixels[..., first : first + size] for first in range(0, channels, size)]
    height = max(tile.shape[1] for tile in tiles)
    width = sum(tile.shape[2] + _GAP for tile in tiles) - _GAP
    canvas = np.full((len(tiles[0]), height, width, _N_COLOURS), _BACKDROP, np.uint8)
    left = 0
    for tile in tiles:
        canvas[:, : tile.shape[1], left : left + tile.shape[2]] = tile
        left += tile.shape[2] + _GAP
    return canvas


def real_pictures(parts: ObservationParts, observation: Observation) -> list[Tensor]:
    """Return the pictures of observations (T, ...), (T, C, H, W) in [0, 1] of each part."""
    return [parts.picture(part, observation) for part in parts.pictures]


def as_sheet(frames: np.ndarray, *, first: int) -> dict[str, Any]:
    """Return pictures on one sheet, as JSON holds it.

    Args:
        frames: (n, height, width, 3) uint8, n >= 1.
        first: The step that the first one belongs to.

    Returns:
        `image`, a PNG as a data URL with `PER_ROW` pictures in a row, `first`, `n`, `width` and
        `height` of one picture, `per_row`.
    """
    n, height, width, _ = frames.shape
    per_row = min(n, PER_ROW)
    n_rows = -(-n // per_row)
    cells = np.full((n_rows * per_row, height, width, _N_COLOURS), _BACKDROP, np.uint8)
    cells[:n] = frames
    sheet = cells.reshape(n_rows, per_row, height, width, _N_COLOURS).swapaxes(1, 2)
    buffer = io.BytesIO()
    Image.fromarray(sheet.reshape(n_rows * height, per_row * width, _N_COLOURS)).save(buffer, "PNG")
    image = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
    return {
        "image": image,
        "first": first,
        "n": n,
        "width": width,
        "height": height,
        "per_row": per_row,
    }
