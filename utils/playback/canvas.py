"""A view as one picture: tiles with captions, a line of text, and the panel beside them."""

from __future__ import annotations

import functools

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from utils.playback.view import Panel, PanelRow, Tile, View, arrange, count_columns, dim

# Pixels. A single picture fills about the first of these areas, a grid of them the second.
_ONE_AREA = (640, 480)
_GRID_AREA = (1280, 900)
_GAP = 6
_LINE = 22
_TEXT_SIZE = 14
_PANEL_WIDTH = 360
_MARGIN = 10
_LABEL_AT, _BAR_AT, _BAR_WIDTH = 96, 228, 64
_ROWS_MIN_HEIGHT = 360

_BACKGROUND = (22, 24, 29)
_HIGHLIGHT = (44, 54, 72)
_BAR = (76, 138, 210)
_TEXT = (228, 230, 235)
_FAINT = (138, 144, 156)
_ACCENT = (126, 196, 255)


def compose(view: View) -> np.ndarray:
    """Return a view as a picture (H, W, 3) uint8, RGB; the hint is left out.

    Views that differ in their numbers and texts alone have the same size.
    """
    body = _compose_tiles(view.tiles)
    if view.panel is not None:
        body = _beside(body, _compose_panel(view.panel, max(body.shape[0], _ROWS_MIN_HEIGHT)))
    return np.concatenate([body, text_strip(view.caption, body.shape[1])])


def text_strip(text: str, width: int, *, is_faint: bool = False) -> np.ndarray:
    """Return a line of text as a picture (22, width, 3) uint8; what is too long is cut."""
    strip = _blank(_LINE, width)
    _write(strip, text, 8, 0, _FAINT if is_faint else _TEXT, width - 8)
    return strip


def fit_picture(picture: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return a picture (H, W, 3) uint8 enlarged by a whole factor or shrunk to fit an area."""
    own_height, own_width = picture.shape[:2]
    factor = min(width // own_width, height // own_height)
    if factor >= 1:
        return picture.repeat(factor, axis=0).repeat(factor, axis=1)
    scale = min(width / own_width, height / own_height)
    size = (max(1, round(own_width * scale)), max(1, round(own_height * scale)))
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BOX))


def _compose_tiles(tiles: tuple[Tile, ...]) -> np.ndarray:
    if len(tiles) == 1 and not tiles[0].caption:
        return fit_picture(tiles[0].picture, *_ONE_AREA)
    n_columns = count_columns(len(tiles))
    n_rows = -(-len(tiles) // n_columns)
    width = (_GRID_AREA[0] - _GAP * (n_columns - 1)) // n_columns
    height = (_GRID_AREA[1] - _GAP * (n_rows - 1)) // n_rows - _LINE
    pictures = [[_compose_tile(tile, width, height) for tile in row] for row in arrange(tiles)]
    cell_height = max(picture.shape[0] for row in pictures for picture in row)
    cell_width = max(picture.shape[1] for row in pictures for picture in row)
    body = _blank(n_rows * (cell_height + _GAP) - _GAP, n_columns * (cell_width + _GAP) - _GAP)
    for k, row in enumerate(pictures):
        for j, picture in enumerate(row):
            _paste(body, picture, j * (cell_width + _GAP), k * (cell_height + _GAP))
    return body


def _compose_tile(tile: Tile, width: int, height: int) -> np.ndarray:
    picture = fit_picture(tile.picture, width, height)
    if tile.is_dimmed:
        picture = dim(picture)
    return np.concatenate(
        [picture, text_strip(tile.caption, picture.shape[1], is_faint=tile.is_dimmed)]
    )


def _compose_panel(panel: Panel, height: int) -> np.ndarray:
    picture = _blank(height, _PANEL_WIDTH)
    _write(picture, panel.title, _MARGIN, 4, _ACCENT, _PANEL_WIDTH - _MARGIN)
    n_shown = max(0, (height - _MARGIN) // _LINE - 2 - len(panel.facts))
    y = _LINE + _MARGIN
    for row in panel.fitting(n_shown):
        _write_row(picture, row, y)
        y += _LINE
    y += _MARGIN // 2
    for fact in panel.facts:
        _write(picture, fact, _MARGIN, y, _FAINT, _PANEL_WIDTH - _MARGIN)
        y += _LINE
    _write(picture, panel.message, _MARGIN, y, _TEXT, _PANEL_WIDTH - _MARGIN)
    return picture


def _write_row(picture: np.ndarray, row: PanelRow, y: int) -> None:
    if row.is_suggested:
        picture[y : y + _LINE, _MARGIN // 2 : -_MARGIN // 2] = _HIGHLIGHT
    colour = _FAINT if row.is_forbidden else _ACCENT if row.is_suggested else _TEXT
    _write(picture, row.keys, _MARGIN, y, _FAINT, _LABEL_AT - 4)
    _write(picture, row.label, _LABEL_AT, y, colour, _BAR_AT - 4)
    if row.fraction is not None:
        length = round(_BAR_WIDTH * min(max(row.fraction, 0.0), 1.0))
        picture[y + 6 : y + _LINE - 6, _BAR_AT : _BAR_AT + length] = _BAR
    _write(picture, row.number, _BAR_AT + _BAR_WIDTH + 8, y, colour, _PANEL_WIDTH - 4)


def _write(
    picture: np.ndarray, text: str, x: int, y: int, colour: tuple[int, int, int], right: int
) -> None:
    """Blend a line of text into a picture, with its upper left corner at x and y, up to `right`."""
    cover = _text_cover(text)[: picture.shape[0] - y, : max(0, right - x)]
    area = picture[y : y + cover.shape[0], x : x + cover.shape[1]]
    cover = cover[:, : area.shape[1], None]
    area[:] = area + (np.array(colour) - area) * cover


@functools.lru_cache(maxsize=512)
def _text_cover(text: str) -> np.ndarray:
    """Return how much of each pixel a line of text covers, (22, W) float32 within 0 and 1."""
    font = ImageFont.load_default(_TEXT_SIZE)
    image = Image.new("L", (max(1, int(font.getlength(text)) + 2), _LINE))
    ImageDraw.Draw(image).text((0, 2), text, fill=255, font=font)
    return np.asarray(image, np.float32) / 255.0


def _beside(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    body = _blank(max(left.shape[0], right.shape[0]), left.shape[1] + right.shape[1])
    _paste(body, left, 0, (body.shape[0] - left.shape[0]) // 2)
    _paste(body, right, left.shape[1], 0)
    return body


def _paste(body: np.ndarray, picture: np.ndarray, x: int, y: int) -> None:
    body[y : y + picture.shape[0], x : x + picture.shape[1]] = picture


def _blank(height: int, width: int) -> np.ndarray:
    picture = np.empty((height, width, 3), np.uint8)
    picture[:] = _BACKGROUND
    return picture
