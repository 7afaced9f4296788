"""Pictures in a terminal: two pixels to a character, the upper half in front of the lower."""

from __future__ import annotations

import numpy as np

_UPPER_HALF = "▀"
_SHADES = " .:-=+*#%@"
_RESET = "\x1b[0m"
_CUBE = np.array([0, 95, 135, 175, 215, 255])  # levels of the 6 x 6 x 6 colours of a terminal


def fit_size(height: int, width: int, *, columns: int, rows: int) -> tuple[int, int]:
    """Return the largest (height, width) in half blocks of the same aspect that fit.

    Args:
        height: Of the picture, in pixels.
        width: Of the picture, in pixels.
        columns: Of the terminal.
        rows: Of the terminal; each shows two half blocks above each other, which are square.

    Returns:
        An even height of at least 2, and a width of at least 1; never larger than the picture.
    """
    scale = min(columns / width, 2 * rows / height, 1.0)
    fitted = max(2, round(height * scale))
    return fitted - fitted % 2, max(1, min(columns, round(width * scale)))


def shrink(frame: np.ndarray, height: int, width: int) -> np.ndarray:
    """Average a picture down to fewer pixels, so that thin lines stay visible.

    Args:
        frame: (H, W, 3) uint8.
        height: At most H, except that a picture one pixel high is repeated.
        width: At most W.

    Returns:
        (height, width, 3) uint8.
    """
    if frame.shape[0] < height:
        frame = np.repeat(frame, -(-height // frame.shape[0]), axis=0)
    rows = np.arange(height) * frame.shape[0] // height
    columns = np.arange(width) * frame.shape[1] // width
    sums = np.add.reduceat(frame, rows, axis=0, dtype=np.uint32)
    sums = np.add.reduceat(sums, columns, axis=1)
    counts = np.outer(_lengths(rows, frame.shape[0]), _lengths(columns, frame.shape[1]))
    return (sums / counts[..., None] + 0.5).astype(np.uint8)


def draw_half_blocks(pixels: np.ndarray, *, is_truecolor: bool) -> list[str]:
    """Draw pixels with coloured half blocks.

    Args:
        pixels: (H, W, 3) uint8, H even.
        is_truecolor: Write 24-bit colours; otherwise the nearest of 256.

    Returns:
        H / 2 lines of W visible characters each; a colour is written only where it changes.
    """
    if is_truecolor:
        wide = pixels.astype(np.int32)
        codes = wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]
    else:
        codes = _nearest_of_256(pixels)
    upper, lower = codes[::2].tolist(), codes[1::2].tolist()
    return [_line(top, bottom, is_truecolor) for top, bottom in zip(upper, lower, strict=True)]


def draw_shades(pixels: np.ndarray) -> list[str]:
    """Draw pixels in ASCII without colours, dark to bright; see `draw_half_blocks`."""
    gray = pixels.astype(np.float64) @ [0.299, 0.587, 0.114]
    level = (gray[::2] + gray[1::2]) / 2 * (len(_SHADES) - 1) / 255 + 0.5
    return ["".join(_SHADES[k] for k in row) for row in level.astype(int)]


def _line(upper: list[int], lower: list[int], is_truecolor: bool) -> str:
    parts = []
    front = back = -1
    for top, bottom in zip(upper, lower, strict=True):
        if top != front:
            parts.append(_colour(38, top, is_truecolor))
            front = top
        if bottom != back:
            parts.append(_colour(48, bottom, is_truecolor))
            back = bottom
        parts.append(_UPPER_HALF)
    return "".join(parts) + _RESET


def _colour(layer: int, code: int, is_truecolor: bool) -> str:
    if is_truecolor:
        return f"\x1b[{layer};2;{code >> 16};{code >> 8 & 255};{code & 255}m"
    return f"\x1b[{layer};5;{code}m"


def _nearest_of_256(pixels: np.ndarray) -> np.ndarray:
    """Return (H, W) numbers of the nearest colours of the 6 x 6 x 6 cube."""
    level = np.abs(pixels[..., None].astype(np.int32) - _CUBE).argmin(axis=-1)
    return 16 + 36 * level[..., 0] + 6 * level[..., 1] + level[..., 2]


def _lengths(starts: np.ndarray, end: int) -> np.ndarray:
    return np.diff(starts, append=end)
