import os

import pytest

from utils.environment import build_env
from utils.environment.display import draw_into_memory, has_display


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_display(environ, platform, expected):
    assert has_display(environ, platform=platform) is expected


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "dummy"),
        ({"DISPLAY": ":0"}, None),
        ({"SDL_VIDEODRIVER": "offscreen"}, "offscreen"),
    ],
)
def test_sdl_is_told_where_there_is_no_display(environ, expected):
    draw_into_memory(environ)
    assert environ.get("SDL_VIDEODRIVER") == expected


def test_a_wrapper_that_needs_pictures_draws_them_into_memory(monkeypatch):
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    wrappers = [{"id": "PixelObservation"}]
    env = build_env("tests.helpers.envs:Drawing-v0", n_envs=1, env_wrappers=wrappers)
    env.close()
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"
