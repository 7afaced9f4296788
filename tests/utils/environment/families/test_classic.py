"""`simd` and `torch` build arrays for the environments that have them, and say why not."""

import gymnasium as gym
import pytest

from gym_envs.physics import list_classic_specs
from gym_envs.simd import SimdVectorEnv
from gym_envs.torch_envs import TorchVectorEnv
from utils.environment import build_env
from utils.errors import ConfigError


def test_torch_builds_the_tensor_environment():
    env = build_env("Pendulum-v1", n_envs=3, vectorization="torch", max_episode_steps=7)
    assert isinstance(env, TorchVectorEnv)
    assert (env.num_envs, env.max_episode_steps, env.device.type) == (3, 7, "cpu")


def test_simd_builds_the_compiled_environment():
    env = build_env("Pendulum-v1", n_envs=3, vectorization="simd", max_episode_steps=7)
    assert isinstance(env, SimdVectorEnv)
    assert (env.num_envs, env.max_episode_steps, env.vectorization_name) == (3, 7, "simd")


@pytest.mark.parametrize("spec", list_classic_specs(), ids=lambda spec: spec.env_id)
def test_auto_takes_simd_for_the_classic_environments(spec):
    assert build_env(spec.env_id, n_envs=2).vectorization_name == "simd"


@pytest.mark.parametrize(
    "options",
    [
        {"frame_stack": 2},
        {"env_kwargs": {"sutton_barto_reward": True}},
        {"env_wrappers": [{"id": "ClipReward"}]},
        {"render_mode": "rgb_array"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_auto_takes_sync_where_arrays_would_not_do_the_same(options):
    env = build_env("CartPole-v1", n_envs=2, **options)
    assert env.vectorization_name == "sync"
    env.close()


def test_auto_leaves_another_environment_under_the_same_id_alone(monkeypatch):
    other = gym.envs.registration.EnvSpec(
        "CartPole-v1", entry_point="gymnasium.envs.toy_text.taxi:TaxiEnv"
    )
    monkeypatch.setitem(gym.registry, "CartPole-v1", other)
    env = build_env("CartPole-v1", n_envs=2)
    assert env.vectorization_name == "sync"
    with pytest.raises(ConfigError, match="registered as another environment"):
        build_env("CartPole-v1", n_envs=2, vectorization="simd")


def test_threads_beyond_the_machine_are_refused():
    with pytest.raises(ConfigError, match=r"n_workers: this machine has \d+ cores"):
        build_env("CartPole-v1", n_envs=2, vectorization="simd", n_workers=10_000)


def test_native_says_which_family_has_none():
    with pytest.raises(ConfigError, match=r"native: Gymnasium ships no vector .* use .*: auto"):
        build_env("CartPole-v1", n_envs=2, vectorization="native")


@pytest.mark.parametrize("vectorization", ["simd", "torch"])
def test_pictures_come_from_the_ordinary_environment(vectorization):
    env = build_env("Pendulum-v1", n_envs=1, vectorization=vectorization, render_mode="rgb_array")
    assert env.vectorization_name == "sync"
    env.close()


@pytest.mark.parametrize(
    ("env_id", "options", "expected"),
    [
        ("Taxi-v4", {}, "CartPole-v1.*only, not Taxi-v4"),
        ("CartPole-v1", {"env_kwargs": {"sutton_barto_reward": True}}, "takes no env_kwargs"),
        ("CartPole-v1", {"env_wrappers": [{"id": "ClipReward"}]}, "takes no env_wrappers"),
        ("CartPole-v1", {"frame_stack": 2, "resize_obs": [8, 8]}, "no resize_obs, frame_stack"),
        ("CartPole-v1", {"grayscale_obs": True}, "takes no grayscale_obs"),
    ],
)
@pytest.mark.parametrize("vectorization", ["simd", "torch"])
def test_what_arrays_cannot_do_is_refused(env_id, options, expected, vectorization):
    with pytest.raises(ConfigError, match=f"vectorization: {vectorization}: .*{expected}"):
        build_env(env_id, n_envs=2, vectorization=vectorization, **options)
