import io

import av
import numpy as np
import pytest

from utils.playback.episodes import PlayedStep
from utils.playback.screens import TerminalScreen, VideoScreen


def step_of(frame):
    return PlayedStep(frame, 0, None, 0.0, 0.0, None)


class FakeTerminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class FakeClock:
    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def white():
    return np.full((40, 60, 3), 255, np.uint8)


def test_video_holds_every_frame_at_its_pace(tmp_path, white):
    screen = VideoScreen(tmp_path / "new" / "a.mp4", fps=12)
    for _ in range(7):
        screen.show(step_of(white), "")
    screen.close()
    screen.close()
    assert screen.n_frames == 7
    with av.open(str(screen.path)) as container:
        assert container.streams.video[0].average_rate == 12
        assert len(list(container.decode(video=0))) == 7


def test_terminal_shows_picture_and_caption_and_leaves_no_trace(white):
    stream = FakeTerminal()
    screen = TerminalScreen(stream, fps=10, environ={"COLORTERM": "truecolor"})
    screen.show(step_of(white), "step 3")
    screen.close()
    screen.close()
    text = stream.getvalue()
    assert text.startswith("\x1b[?1049h\x1b[?25l")
    assert text.endswith("\x1b[?25h\x1b[?1049l")
    assert text.count("\x1b[?1049l") == 1
    assert "\x1b[38;2;255;255;255m" in text
    assert "step 3" in text
    assert text.count("▀") == 20 * 60  # 40 x 60 pixels fit into 80 columns and 24 rows


def test_terminal_without_colours_draws_shades(white):
    stream = FakeTerminal()
    screen = TerminalScreen(stream, fps=10, environ={"NO_COLOR": "1", "COLORTERM": "truecolor"})
    screen.show(step_of(white), "")
    assert "▀" not in stream.getvalue()
    assert "@" * 60 in stream.getvalue()


def test_frames_come_at_a_steady_pace_and_late_ones_do_not_pile_up(white):
    clock = FakeClock()
    screen = TerminalScreen(FakeTerminal(), fps=10, environ={}, clock=clock, sleep=clock.sleep)
    screen.show(step_of(white), "")  # due at once
    clock.now += 0.04
    screen.show(step_of(white), "")  # due at 0.1: 0.06 to wait
    clock.now += 0.5  # at 0.6, due at 0.2: at once
    screen.show(step_of(white), "")
    screen.show(step_of(white), "")  # due at 0.7
    assert clock.slept == pytest.approx([0.06, 0.1])
