import gymnasium as gym
import numpy as np
import pytest

from tests.helpers.played_runs import make_config
from utils.playback.environment import (
    RenderError,
    as_frame,
    build_playback_env,
    draw_states,
    frames_per_second,
    render_modes,
)


def test_only_known_render_modes_are_built():
    with pytest.raises(RenderError, match=r"no render mode 'human' \(it has: rgb_array\)"):
        build_playback_env(make_config(), render_mode="human")
    blind = make_config(env_id="tests.helpers.envs:Counting-v0")
    assert render_modes(blind) == []
    with pytest.raises(RenderError, match=r"no render mode 'rgb_array' \(it has: none\)"):
        build_playback_env(blind, render_mode="rgb_array")
    env = build_playback_env(blind, render_mode=None)
    assert env.num_envs == 1
    env.close()


def test_the_environment_is_that_of_the_config():
    config = make_config(frame_stack=3, env_kwargs={"length": 2}, max_episode_steps=50)
    env = build_playback_env(config, render_mode="rgb_array")
    assert env.single_observation_space.shape == (3,)
    assert env.max_episode_steps == 50
    assert env.envs[0].unwrapped.length == 2
    env.close()


def test_pace_is_the_environments_own_unless_the_config_knows_better():
    env = build_playback_env(make_config(), render_mode=None)
    assert frames_per_second(make_config(), env) == 12
    assert frames_per_second(make_config(spec={"render_fps": 7.5}), env) == 7.5
    env.close()


def test_frames_are_rgb_and_of_their_own():
    gray = np.arange(6, dtype=np.uint8).reshape(2, 3)
    frame = as_frame(gray, env_id="x")
    assert frame.shape == (2, 3, 3)
    assert (frame == gray[..., None]).all()
    rgba = np.zeros((2, 3, 4), np.uint8)
    rgba[..., 3] = 255
    frame = as_frame(rgba, env_id="x")
    assert frame.shape == (2, 3, 3)
    assert not frame.any()
    rgb = np.zeros((2, 3, 3), np.uint8)
    frame = as_frame(rgb, env_id="x")
    rgb[:] = 9
    assert not frame.any()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (None, "NoneType"),
        ([], "list"),
        (np.zeros((2, 3, 3)), "float64"),
        (np.zeros((2, 3, 5), np.uint8), r"\(2, 3, 5\)"),
    ],
)
def test_what_is_no_picture_is_refused(frame, message):
    with pytest.raises(RenderError, match=message):
        as_frame(frame, env_id="Some-v0")


def test_an_environment_that_fails_to_draw_is_named(monkeypatch):
    env = build_playback_env(make_config(), render_mode="rgb_array")
    env.reset(seed=0)
    nobody = np.zeros(1, bool)

    def fail(self):
        raise gym.error.DependencyNotInstalled("no\ndisplay")

    monkeypatch.setattr(type(env.envs[0].unwrapped), "render", fail)
    with pytest.raises(RenderError, match="Drawing-v0 cannot be drawn: DependencyNotInstalled: no"):
        draw_states(env, ~nobody, was_reset=nobody)
    env.close()
