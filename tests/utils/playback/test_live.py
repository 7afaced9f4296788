import av
import numpy as np
import pytest

from tests.helpers.displays import FakeClock, ScriptedDisplay
from utils.playback.live import LiveScreen, PlaybackStopped, Recorder
from utils.playback.pace import Pace
from utils.playback.view import Tile, View
from utils.video import VideoWriter

WHITE = np.full((40, 60, 3), 255, np.uint8)


def view(text):
    return View(tiles=(Tile(WHITE),), caption=text, hint="keys")


def make_screen(*script, fps=10, recorder=None, **options):
    clock = FakeClock()
    display = ScriptedDisplay(script, clock=clock, **options)
    return LiveScreen(display, Pace(fps, clock=clock), recorder), display, clock


def test_states_are_shown_at_the_pace():
    screen, display, clock = make_screen()
    for k in range(4):
        screen.show(view(f"step {k}"))
    assert display.captions == ["step 0", "step 1", "step 2", "step 3"]
    assert clock.now == pytest.approx(0.3)
    screen.close()
    assert display.is_closed


def test_space_pauses_and_n_shows_one_after_the_other():
    # The first reading is before the first state, which is due at once.
    screen, display, _ = make_screen([], ["space"], [], [], ["n"], [], ["n"], [], ["space"])
    shown = []
    for k in range(5):
        screen.show(view(f"step {k}"))
        shown.append((k, screen.pace.is_paused))
    assert shown == [(0, False), (1, True), (2, True), (3, False), (4, False)]
    # The state that stands still is drawn anew when a key changes what is said about it.
    assert display.captions == [
        "step 0",
        "paused   step 0",
        "paused   step 1",
        "paused   step 2",
        "step 2",
        "step 3",
        "step 4",
    ]


def test_n_begins_a_pause():
    screen, _, _ = make_screen([], ["n"])
    screen.show(view("a"))
    screen.show(view("b"))
    assert screen.pace.is_paused


def test_plus_and_minus_change_the_speed():
    screen, display, _ = make_screen([], ["+"], [], ["-", "-"])
    screen.show(view("a"))
    screen.show(view("b"))
    assert display.captions == ["a", "2x   a", "2x   b"]
    screen.show(view("c"))
    assert screen.pace.speed == 0.5
    assert display.captions[-1] == "0.5x   c"


@pytest.mark.parametrize("key", ["q", "escape", "close"])
def test_the_person_can_leave_also_out_of_a_pause(key):
    screen, _, _ = make_screen([], ["space"], [], [key])
    screen.show(view("a"))
    with pytest.raises(PlaybackStopped):
        screen.show(view("b"))


def test_the_last_state_stays_for_a_moment():
    screen, _, clock = make_screen()
    screen.show(view("a"))
    screen.linger()
    assert clock.now == pytest.approx(0.5)


def test_a_recording_has_every_state_once_whatever_is_drawn(tmp_path):
    path = tmp_path / "a.mp4"
    recorder = Recorder(VideoWriter(path, fps=20))
    screen, display, clock = make_screen(
        [], ["space"], ["+"], [], ["space"], fps=1000, recorder=recorder
    )
    draw = display.draw

    def draw_slowly(view):
        clock.now += 0.05
        draw(view)

    display.draw = draw_slowly
    for k in range(30):
        screen.show(view(f"step {k}"))
    assert len(display.views) < 25  # some were late
    screen.close()
    screen.close()
    with av.open(str(path)) as container:
        assert container.streams.video[0].average_rate == 20
        assert len(list(container.decode(video=0))) == 30
