"""Pictures of many steps on one sheet, for the browser."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from PIL import Image

PER_ROW = 16
"""Pictures beside each other on a sheet: browsers refuse more than some 16,000 pixels."""
_BACKDROP = 128
_N_COLOURS = 3


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
