"""Pictures that a world model sees, for people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from utils.world_models.observation_parts import Observation, ObservationParts

_GAP = 2
_BACKDROP = 128
_N_COLOURS = 3


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
