"""`vectorization: torch` builds tensors for the environments that have them, and says why not."""

import pytest

from gym_envs.torch_envs import TorchVectorEnv
from utils.environment import build_env
from utils.errors import ConfigError


def test_torch_builds_the_tensor_environment():
    env = build_env("Pendulum-v1", n_envs=3, vectorization="torch", max_episode_steps=7)
    assert isinstance(env, TorchVectorEnv)
    assert (env.num_envs, env.max_episode_steps, env.device.type) == (3, 7, "cpu")


def test_pictures_come_from_the_ordinary_environment():
    env = build_env("Pendulum-v1", n_envs=1, vectorization="torch", render_mode="rgb_array")
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
def test_what_tensors_cannot_do_is_refused(env_id, options, expected):
    with pytest.raises(ConfigError, match=expected):
        build_env(env_id, n_envs=2, vectorization="torch", **options)
