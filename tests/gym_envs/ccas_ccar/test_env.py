"""One cell behind Gymnasium's interface, and its picture."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

pytest.importorskip("numba")

from gym_envs.ccas_ccar import CcasCcarEnv
from gym_envs.ccas_ccar.registration import register


def test_gymnasium_finds_no_fault():
    check_env(CcasCcarEnv(n_horizon=3), skip_render_check=True)


def test_the_registered_day_is_truncated_after_24_hours():
    register()
    register()
    env = gym.make("CcasCcar-v0", target="sine")
    env.reset(seed=0)
    total = 0.0
    for t in range(288):
        _, reward, terminated, truncated, info = env.step(t % 2)
        total += reward
        assert not terminated
        assert truncated == (t == 287)
    assert info["episode_metrics"]["mean_absolute_error"] == pytest.approx(-total / 288)
    vector = gym.make_vec("CcasCcar-v0", num_envs=2)
    assert vector.reset(seed=0)[0].shape == (2, 3)


def test_np_random_decides_an_episode():
    def play(env):
        return [env.step(1)[4]["H"] for _ in range(20)]

    env = CcasCcarEnv()
    env.reset(seed=4)
    state = env.np_random.bit_generator.state
    env.reset()
    second = play(env)
    env.np_random.bit_generator.state = state
    env.reset()
    assert play(env) == second
    env.reset(seed=4)
    assert play(env) != second


def mean_green(frame):
    """Return by how much the dish is greener than it is red."""
    dish = frame[24:336, 24:280].astype(float)
    return dish[..., 1].mean() - dish[..., 0].mean()


def test_the_picture_glows_with_f_and_shows_the_light():
    env = CcasCcarEnv(render_mode="rgb_array")
    env.reset(seed=0)
    empty = env.render()
    assert empty.shape == (480, 720, 3)
    assert empty.dtype == np.uint8
    env.cells.count[:, 0] = 100, 60
    env.step(0)
    glowing = env.render()
    assert mean_green(glowing) > mean_green(empty) + 20
    red_bar = glowing[422, 332]
    assert red_bar[0] > 200
    env.step(1)
    green_bar = env.render()[422, 334]
    assert green_bar[1] > 200


def test_a_picture_needs_a_mode_and_knows_no_other():
    env = CcasCcarEnv()
    env.reset(seed=0)
    assert env.render() is None
    with pytest.raises(ValueError, match="render_mode"):
        CcasCcarEnv(render_mode="human")
