import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from utils.environment.families.mujoco import choose_backend, log_note
from utils.errors import ConfigError

ROOT = Path(__file__).resolve().parents[4]
ANYTHING = {"libEGL.so.1", "libOSMesa.so.8"}


def chosen(environ, libraries=(), *, renders=True):
    environ = dict(environ)
    choose_backend(environ, can_load=lambda name: name in libraries, renders=renders)
    return environ.get("MUJOCO_GL")


pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


@pytest.mark.parametrize(
    ("environ", "libraries", "backend"),
    [
        ({}, ANYTHING, "egl"),
        ({"DISPLAY": ":0"}, ANYTHING, "egl"),
        ({"MUJOCO_GL": ""}, ANYTHING, "egl"),
        ({}, {"libOSMesa.so.8"}, "osmesa"),
        ({"MUJOCO_GL": "osmesa"}, ANYTHING, "osmesa"),
        ({"MUJOCO_GL": "glfw"}, ANYTHING, "glfw"),
        # With a display the engine's own choice, a hidden window, works.
        ({"DISPLAY": ":0"}, (), None),
    ],
)
def test_a_backend_without_a_display_is_chosen_unless_one_is_set(environ, libraries, backend):
    assert chosen(environ, libraries) == backend


def test_a_backend_that_there_is_not_is_refused():
    with pytest.raises(ConfigError, match="MUJOCO_GL is 'eggl': it must be one of egl"):
        chosen({"MUJOCO_GL": "eggl"}, ANYTHING)


def test_pictures_that_nothing_can_draw_are_refused_and_steps_are_not():
    with pytest.raises(ConfigError, match="install libegl1"):
        chosen({})
    assert chosen({}, renders=False) == "disabled"
    assert chosen({"MUJOCO_GL": "off"}, renders=False) == "off"
    with pytest.raises(ConfigError, match="MUJOCO_GL is 'off': unset it, or set video: none"):
        chosen({"MUJOCO_GL": "off"}, ANYTHING)


def test_environments_without_pictures_do_not_hide_why_a_film_cannot_be_made():
    environ = {}
    for _ in range(2):  # the training environments, and those of another process
        choose_backend(environ, can_load=lambda name: False, renders=False)
    with pytest.raises(ConfigError, match="install libegl1"):
        choose_backend(environ, can_load=lambda name: False, renders=True)


@pytest.mark.parametrize("renders", [True, False])
def test_a_backend_whose_library_is_missing_is_refused_before_it_is_imported(renders):
    with pytest.raises(ConfigError, match=r"is 'egl', and libEGL\.so\.1 cannot be loaded"):
        chosen({"MUJOCO_GL": "egl"}, {"libOSMesa.so.8"}, renders=renders)


def test_notes_reach_the_log_but_for_what_is_old_in_a_model(caplog):
    with caplog.at_level(logging.WARNING):
        log_note("compiler attribute 'settotalmass' is deprecated")
        log_note("Nan, Inf or huge value\nin QACC at DOF 0")
    assert [record.message for record in caplog.records] == [
        "MuJoCo: Nan, Inf or huge value in QACC at DOF 0"
    ]


STEPS_AND_A_PICTURE = """
import numpy as np
from utils.environment import build_env
if __name__ == "__main__":
    for vectorization in ("sync", "async"):
        env = build_env("HalfCheetah-v5", n_envs=2, vectorization=vectorization)
        env.reset(seed=0)
        env.step(env.action_space.sample())
        env.close()
    env = build_env("InvertedPendulum-v5", n_envs=1, render_mode="rgb_array")
    env.reset(seed=0)
    print(np.std(env.render()[0]) > 0)
    env.close()
"""


def test_a_picture_without_a_display_and_nothing_left_in_the_folder(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    script = tmp_path / "draw.py"
    script.write_text(STEPS_AND_A_PICTURE)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["draw.py"]


def test_facts_limit_and_a_restored_episode():
    pytest.importorskip("mujoco")
    from utils.environment import build_env

    env = build_env("Hopper-v5", n_envs=2, max_episode_steps=1500)
    assert (env.max_episode_steps, env.reward_threshold, env.render_fps) == (1500, 3800.0, 125)
    assert env.single_observation_space.dtype == np.float32
    env.reset(seed=3)
    for _ in range(7):
        env.step(env.action_space.sample())
    state = env.get_state()
    _, restored = env.set_state(state)
    assert restored.all()
    env.close()
