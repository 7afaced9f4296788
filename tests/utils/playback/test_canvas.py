import numpy as np
import pytest

from utils.playback.canvas import compose, fit_picture, text_strip
from utils.playback.view import Panel, PanelRow, Tile, View, arrange, count_columns

RED = np.zeros((40, 60, 3), np.uint8)
RED[..., 0] = 240
LINE = 22


def shares(picture, colour):
    return float((np.abs(picture.astype(int) - colour).max(axis=2) <= 2).mean())


@pytest.mark.parametrize(
    ("shape", "area", "expected"),
    [
        ((40, 60), (640, 480), (400, 600)),  # a whole factor: 10
        ((210, 160), (640, 480), (420, 320)),
        ((400, 600), (640, 480), (400, 600)),
        ((800, 1200), (640, 480), (427, 640)),
        ((1, 1000), (100, 100), (1, 100)),
    ],
)
def test_pictures_fit_their_area(shape, area, expected):
    picture = np.full((*shape, 3), 7, np.uint8)
    fitted = fit_picture(picture, *area)
    assert fitted.shape == (*expected, 3)
    assert (fitted == 7).all()


def test_one_picture_has_a_line_of_text_below():
    picture = compose(View(tiles=(Tile(RED),), caption="step 3", hint="never in a picture"))
    assert picture.shape == (400 + LINE, 600, 3)
    assert (picture[:400] == RED[0, 0]).all()
    strip = picture[400:]
    assert 0 < (strip.max(axis=(1, 2)) > 200).sum() < LINE
    assert (picture == compose(View(tiles=(Tile(RED),), caption="step 3"))).all()
    assert (picture != compose(View(tiles=(Tile(RED),), caption="step 4"))).any()


def test_a_grid_shows_each_with_its_caption_and_dims_those_that_ended():
    tiles = (Tile(RED, "seed 1"), Tile(RED, "seed 2", is_dimmed=True), Tile(RED, "seed 3"))
    picture = compose(View(tiles=tiles, caption="all"))
    # 2 x 2 cells of (1280 - 6) // 2 = 637 by (900 - 6) // 2 - 22 = 425: 40 x 60 by the factor 10.
    height, width = 400 + LINE, 600
    assert picture.shape == (2 * height + 6 + LINE, 2 * width + 6, 3)
    assert (picture[:400, :600] == RED[0, 0]).all()
    assert (picture[:400, 606:] == RED[0, 0] // 3).all()
    assert (picture[height + 6 : height + 406, :600] == RED[0, 0]).all()
    assert shares(picture[height + 6 : height + 406, 606:], RED[0, 0]) == 0  # nobody plays there


def test_the_size_does_not_depend_on_texts_and_numbers():
    def size(caption, *, dimmed=False, n_rows=3):
        tiles = tuple(Tile(RED, caption, dimmed) for _ in range(5))
        rows = tuple(PanelRow("k", caption, 0.5, "1") for _ in range(n_rows))
        panel = Panel(title=caption, rows=rows, facts=(caption,), message=caption)
        return compose(View(tiles=tiles, caption=caption, panel=panel)).shape

    assert size("") != ()
    assert size("a") == size("something much longer " * 20, dimmed=True) == size("b", n_rows=90)


def test_the_panel_shows_bars_in_proportion():
    def bar_length(fraction):
        rows = (PanelRow("left", "push left", fraction, "0.50"),)
        panel = Panel(title="", rows=rows, facts=())
        picture = compose(View(tiles=(Tile(RED),), caption="", panel=panel))
        is_bar = (np.abs(picture.astype(int) - (76, 138, 210)).max(axis=2) == 0).any(axis=0)
        return int(is_bar.sum())

    assert [bar_length(share) for share in (None, 0.0, 0.5, 1.0, 2.0)] == [0, 0, 32, 64, 64]


def test_rows_that_do_not_fit_are_counted_and_the_suggestion_is_kept():
    rows = tuple(PanelRow(str(k), f"action {k}", None, "", k == 15) for k in range(20))
    panel = Panel(title="", rows=rows, facts=())
    assert panel.fitting(20) == rows
    fitting = panel.fitting(6)
    assert [row.label for row in fitting] == [
        "action 0",
        "action 1",
        "action 2",
        "action 3",
        "action 15",
        "and 15 more",
    ]
    assert panel.fitting(0) == ()


def test_text_that_is_too_long_is_cut():
    strip = text_strip("M" * 500, 100)
    assert strip.shape == (LINE, 100, 3)
    assert (strip[:, -8:] == strip[0, -1]).all()


def test_tiles_lie_in_rows():
    assert [count_columns(n) for n in (1, 2, 3, 4, 5, 9, 10, 64)] == [1, 2, 2, 2, 3, 3, 4, 8]
    tiles = tuple(Tile(RED, str(k)) for k in range(5))
    assert [[tile.caption for tile in row] for row in arrange(tiles)] == [
        ["0", "1", "2"],
        ["3", "4"],
    ]
