import sys

import numpy as np
import pytest

from utils.playback.canvas import compose, text_strip
from utils.playback.environment import RenderError
from utils.playback.view import Tile, View
from utils.playback.window import WindowDisplay

pygame = pytest.importorskip("pygame")
GREEN = np.zeros((40, 60, 3), np.uint8)
GREEN[..., 1] = 200


@pytest.fixture
def window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    display = WindowDisplay("a title")
    yield display
    display.close()
    display.close()


def press(key, *, kind=None):
    pygame.event.post(pygame.event.Event(kind or pygame.KEYDOWN, key=key, mod=0, unicode=""))


def release(key):
    press(key, kind=pygame.KEYUP)


def pixels():
    return pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)


def test_a_view_is_shown_with_its_hint(window):
    view = View(tiles=(Tile(GREEN),), caption="step 1", hint="q quit")
    window.draw(view)
    picture = compose(view)
    shown = pixels()
    assert (shown[: picture.shape[0]] == picture).all()
    assert (shown[picture.shape[0] :] == text_strip("q quit", 600, is_faint=True)).all()
    assert pygame.display.get_caption()[0] == "a title"


def test_a_window_of_another_size_shows_it_whole(window):
    view = View(tiles=(Tile(GREEN),), caption="")
    window.draw(view)
    height, width = compose(view).shape[:2]
    window._screen = pygame.display.set_mode((2 * width, 3 * height), pygame.RESIZABLE)
    window.draw(view)
    shown = pixels()
    is_green = (shown == GREEN[0, 0]).all(axis=2)
    assert is_green.any(axis=0).sum() == 2 * width
    assert is_green.any(axis=1).sum() == pytest.approx(2 * 400, abs=2)
    window.draw(View(tiles=(Tile(GREEN[:, :30]),), caption=""))
    assert pygame.display.get_surface().get_size() == (30 * 12, 40 * 12 + 22)


def test_keys_have_the_names_that_the_maps_know(window):
    window.draw(View(tiles=(Tile(GREEN),), caption=""))
    window.read_keys(0.0)
    codes = {
        "left": pygame.K_LEFT,
        "space": pygame.K_SPACE,
        "enter": pygame.K_RETURN,
        "escape": pygame.K_ESCAPE,
        "backspace": pygame.K_BACKSPACE,
        "tab": pygame.K_TAB,
        "+": pygame.K_EQUALS,
        "-": pygame.K_MINUS,
        "a": pygame.K_a,
        "1": pygame.K_1,
    }
    for code in codes.values():
        press(code)
    assert window.read_keys(0.0) == list(codes)
    press(pygame.K_KP_PLUS)
    press(pygame.K_KP7)
    assert window.read_keys(0.0) == ["+", "7"]


def test_keys_are_held_until_they_are_released(window):
    window.draw(View(tiles=(Tile(GREEN),), caption=""))
    press(pygame.K_LEFT)
    press(pygame.K_SPACE)
    window.read_keys(0.0)
    assert window.held() == ("left", "space")
    release(pygame.K_LEFT)
    window.read_keys(0.0)
    assert window.held() == ("space",)
    pygame.event.post(pygame.event.Event(pygame.WINDOWFOCUSLOST))
    window.read_keys(0.0)
    assert window.held() == ()


def test_closing_the_window_is_a_key(window):
    window.draw(View(tiles=(Tile(GREEN),), caption=""))
    window.read_keys(0.0)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert window.read_keys(1.0) == ["close"]


def test_without_pygame_it_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(RenderError, match="pip install pygame-ce"):
        WindowDisplay("")


def test_a_display_that_does_not_answer_is_told(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "no-such-driver")
    pygame.display.quit()
    with pytest.raises(RenderError, match="no window can be opened"):
        WindowDisplay("")
