"""Environments of Brax step, end, draw and repeat as Gymnasium environments do."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

from gym_envs.brax.registration import NAMES, register
from tests.helpers.commands import ROOT
from utils.environment import build_env
from utils.errors import ConfigError, MissingDependencyError


def test_gymnasium_finds_the_ids_by_the_package():
    code = (
        "import gymnasium, sys; sys.modules['brax'] = None\n"
        "try: gymnasium.make('gym_envs.brax:brax/ant')\n"
        "except Exception as error: print(type(error).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "MissingDependencyError\n"  # it is known, and Brax is what it lacks


def test_ids_are_known_without_brax(monkeypatch):
    monkeypatch.setitem(sys.modules, "brax", None)
    register()
    register()
    assert {f"brax/{name}" for name in NAMES} <= set(gym.registry)
    with pytest.raises(MissingDependencyError, match=r"gymnasium-solver\[brax\]"):
        build_env("brax/ant", n_envs=1)


@pytest.fixture(scope="module")
def env():
    pytest.importorskip("brax")
    register()
    made = gym.make("brax/inverted_pendulum", max_episode_steps=40)
    yield made
    made.close()


def test_spaces_and_seeds(env):
    observation, _ = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    assert env.observation_space.shape == (4,)
    assert env.action_space == gym.spaces.Box(-1.0, 1.0, (1,))
    again, _ = env.reset(seed=3)
    np.testing.assert_array_equal(observation, again)
    other, _ = env.reset(seed=4)
    assert (other != observation).any()


def test_an_episode_ends_where_the_pole_falls(env):
    env.reset(seed=0)
    for _ in range(40):
        observation, reward, terminated, truncated, _ = env.step(np.ones(1, np.float32))
        assert reward == 1.0
        if terminated or truncated:
            break
    assert terminated
    assert not truncated
    assert abs(observation[1]) > 0.2  # radians


def test_steps_are_those_of_brax(env):
    import jax
    from brax import envs

    plain = envs.get_environment("inverted_pendulum", backend="generalized")
    observation, _ = env.reset(seed=7)
    generator = np.random.default_rng()
    env.unwrapped.np_random = np.random.default_rng(7)
    env.reset()
    key = jax.random.PRNGKey(int(np.random.default_rng(7).integers(2**31)))
    state = plain.reset(key)
    del generator
    for action in (0.3, -0.8, 0.1):
        observation, *_ = env.step(np.array([action], np.float32))
        state = plain.step(state, np.array([action], np.float32))
        np.testing.assert_allclose(observation, np.asarray(state.obs), rtol=1e-4, atol=1e-5)


def test_a_backend_that_is_none_is_refused():
    pytest.importorskip("brax")
    register()
    with pytest.raises(ConfigError, match="backend: 'x' is not one of generalized, mjx"):
        gym.make("brax/ant", backend="x")
