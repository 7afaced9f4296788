import re

import numpy as np
import pytest

from utils.playback.half_blocks import draw_half_blocks, draw_shades, fit_size, shrink

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize(
    ("size", "terminal", "expected"),
    [
        ((400, 600), (120, 50), (80, 120)),  # the width decides: 400 * 120 / 600
        ((400, 600), (200, 30), (60, 90)),  # the height decides: 2 rows to a line
        ((7, 8), (80, 24), (6, 8)),  # never larger, an even height
        ((1, 1), (80, 24), (2, 1)),
        ((210, 160), (80, 2), (4, 3)),
    ],
)
def test_pictures_keep_their_aspect_and_fit(size, terminal, expected):
    assert fit_size(*size, columns=terminal[0], rows=terminal[1]) == expected


def test_shrinking_averages_whole_areas():
    frame = np.zeros((4, 6, 3), np.uint8)
    frame[:2, :3, 0] = [[10, 20, 30], [40, 50, 60]]
    frame[3, 5, 2] = 60
    small = shrink(frame, 2, 2)
    # Red of the first area: (10 + 20 + 30 + 40 + 50 + 60) / 6 = 35; blue of the last: 60 / 6 = 10.
    assert small[..., 0].tolist() == [[35, 0], [0, 0]]
    assert small[..., 2].tolist() == [[0, 0], [0, 10]]
    assert small.dtype == np.uint8


def test_shrinking_covers_sizes_that_do_not_divide():
    frame = np.full((35, 47, 3), 200, np.uint8)
    assert (shrink(frame, 10, 13) == 200).all()
    assert shrink(np.full((1, 1, 3), 9, np.uint8), 2, 1).tolist() == [[[9, 9, 9]], [[9, 9, 9]]]


def test_colours_are_written_where_they_change():
    pixels = np.zeros((2, 3, 3), np.uint8)
    pixels[0, 2] = (255, 128, 0)
    pixels[1] = (1, 2, 3)
    (line,) = draw_half_blocks(pixels, is_truecolor=True)
    assert line == ("\x1b[38;2;0;0;0m\x1b[48;2;1;2;3m▀▀\x1b[38;2;255;128;0m▀\x1b[0m")


def test_without_24_bit_colours_the_nearest_of_256_is_taken():
    pixels = np.array([[[255, 0, 0]], [[100, 100, 100]]], np.uint8)
    (line,) = draw_half_blocks(pixels, is_truecolor=False)
    # Red is 16 + 36 * 5; 100 is nearest to level 1 (95) of the cube: 16 + 36 + 6 + 1.
    assert line == "\x1b[38;5;196m\x1b[48;5;59m▀\x1b[0m"


def test_lines_are_as_wide_as_the_picture():
    pixels = np.random.default_rng(0).integers(0, 256, (6, 9, 3)).astype(np.uint8)
    lines = draw_half_blocks(pixels, is_truecolor=True)
    assert [ESCAPE.sub("", line) for line in lines] == ["▀" * 9] * 3


def test_shades_go_from_dark_to_bright():
    pixels = np.zeros((2, 3, 3), np.uint8)
    pixels[:, 1] = 128
    pixels[:, 2] = 255
    assert draw_shades(pixels) == [" +@"]
