import os
import signal

import numpy as np
import pytest

from tests.helpers.displays import FakeTerminal
from utils.loggers.terminal import strip_colours
from utils.playback.terminal import TerminalDisplay
from utils.playback.view import Panel, PanelRow, Tile, View

WHITE = np.full((40, 60, 3), 255, np.uint8)
ROWS = (
    PanelRow("left", "push left", 0.75, "0.75", is_suggested=True),
    PanelRow("right", "push right", 0.25, "0.25", is_forbidden=True),
)


def draw(view, *, size=(80, 24), **environ):
    stream = FakeTerminal()
    display = TerminalDisplay(stream, None, environ=environ)
    display._block.size = lambda: size
    display.draw(view)
    display.close()
    display.close()
    return stream.getvalue()


def screen_lines(text):
    body = text.split("\x1b[H")[1].split("\x1b[J")[0].replace("\x1b[K", "")
    return [strip_colours(line) for line in body.split("\r\n")]


def test_picture_caption_and_hint_are_shown_and_no_trace_is_left():
    text = draw(View(tiles=(Tile(WHITE),), caption="step 3", hint="q quit"), COLORTERM="truecolor")
    assert text.startswith("\x1b[?1049h\x1b[?25l")
    assert text.endswith("\x1b[?25h\x1b[?1049l")
    assert text.count("\x1b[?1049l") == 1
    assert "\x1b[38;2;255;255;255m" in text
    assert text.count("▀") == 20 * 60  # 40 x 60 pixels fit into 80 columns and 24 rows
    assert screen_lines(text)[20:23] == ["step 3", "q quit", ""]


def test_without_colours_it_is_drawn_in_shades():
    view = View(tiles=(Tile(WHITE),), caption="", panel=Panel(title="t", rows=ROWS, facts=()))
    text = draw(view, size=(110, 24), NO_COLOR="1", COLORTERM="truecolor")
    assert "▀" not in text
    assert "█" not in text
    assert "@" * 60 in text
    assert "\x1b[1m" not in text
    # 0.75 and 0.25 of 6 columns are 4 and 2 (halves to even).
    assert ">left      push left     ####   0.75" in text
    assert " right     push right    ##     0.25" in text


def test_a_grid_has_a_caption_for_each_and_dims_those_that_ended():
    tiles = (Tile(WHITE, "seed 1"), Tile(WHITE, "seed 2"), Tile(WHITE, "seed 3", is_dimmed=True))
    text = draw(View(tiles=tiles, caption="all"), COLORTERM="truecolor")
    lines = screen_lines(text)
    # Two columns of (80 - 1) // 2 = 39; rows: 22 of two are 11, less the caption 10: 20 pixels of
    # height, so 30 of width.
    assert lines[0] == "▀" * 30 + " " + "▀" * 30
    assert lines[10] == "seed 1".ljust(30) + " " + "seed 2".ljust(30)
    assert lines[11] == "▀" * 30 + " " + " " * 30
    assert lines[21].startswith("seed 3 ")
    assert lines[22] == "all"
    assert "\x1b[38;2;85;85;85m" in text  # 255 // 3


@pytest.mark.parametrize("size", [(80, 24), (50, 20), (20, 8), (10, 3)])
def test_nothing_is_wider_or_higher_than_the_terminal(size):
    panel = Panel(title="policy: push left " * 9, rows=ROWS * 20, facts=("value 1", "you play"))
    view = View(tiles=(Tile(WHITE),), caption="c" * 300, hint="h" * 300, panel=panel)
    lines = screen_lines(draw(view, size=size))
    assert len(lines) - 1 < size[1] or size[1] == 3  # the last is behind the final line break
    assert max(map(len, lines)) <= size[0]


def test_the_panel_stands_beside_or_below():
    panel = Panel(title="policy: push left", rows=ROWS, facts=("value 1",), message="paused")
    view = View(tiles=(Tile(WHITE),), caption="", panel=panel)
    wide = screen_lines(draw(view))
    assert wide[0].endswith("  policy: push left")
    assert wide[0].startswith("▀")
    assert wide[4].endswith("  paused")
    narrow = screen_lines(draw(view, size=(50, 24)))
    assert "policy: push left" in narrow
    assert narrow[-3] == "paused"


def test_without_keys_it_waits_and_says_so():
    slept = []
    display = TerminalDisplay(FakeTerminal(), None, environ={}, sleep=slept.append)
    assert not display.has_keys
    assert display.read_keys(0.25) == []
    assert display.read_keys(0.0) == []
    assert display.held() == ()
    assert slept == [0.25]


class FakeKeys:
    def __init__(self):
        self.calls = []

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")


def test_sigterm_gives_the_terminal_back_first():
    before = signal.getsignal(signal.SIGTERM)
    keys, stream = FakeKeys(), FakeTerminal()
    display = TerminalDisplay(stream, keys, environ={})
    try:
        with pytest.raises(SystemExit) as stop:
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        display.close()
    assert stop.value.code == 143
    assert keys.calls == ["start", "stop"]
    assert stream.getvalue().endswith("\x1b[?1049l")
    assert signal.getsignal(signal.SIGTERM) is before
