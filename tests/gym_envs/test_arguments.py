"""What other programs get wrong is told in a sentence."""

import gymnasium as gym
import numpy as np
import pytest
import torch

import gym_envs  # noqa: F401 - registers the ids
from gym_envs.arguments import read_actions


def build(namespace, **arguments):
    return gym.make_vec(f"{namespace}/CartPole-v1", **({"num_envs": 2} | arguments))


@pytest.mark.parametrize("namespace", ["simd", "torch"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs must be a whole number >= 1, got 0"),
        ({"num_envs": 2.5}, "num_envs must be a whole number >= 1, got 2.5"),
        ({"max_episode_steps": -1}, "max_episode_steps must be a whole number >= 1"),
        ({"render_mode": "human"}, "render_mode must be None"),
    ],
)
def test_arguments_out_of_range_are_named(namespace, arguments, message):
    with pytest.raises(ValueError, match=message):
        build(namespace, **arguments)


@pytest.mark.parametrize("namespace", ["simd", "torch"])
def test_another_environment_is_not_there(namespace):
    with pytest.raises(gym.error.NameNotFound, match=r"did you mean CartPole-v1\?"):
        build(namespace, env_id="CartPole-v3")


@pytest.mark.parametrize("namespace", ["simd", "torch"])
@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros(3, dtype=np.int64), r"must have shape \(2,\), got \(3,\)"),
        (np.zeros((2, 1), dtype=np.int64), r"must have shape \(2,\), got \(2, 1\)"),
        (np.zeros(2), "must be int64, got float64"),
        (np.array([0, 2]), "must be 0 to 1, got 0 to 2"),
    ],
)
def test_actions_that_do_not_fit_are_described(namespace, actions, message):
    env = build(namespace)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        env.step(actions)


@pytest.mark.parametrize("namespace", ["simd", "torch"])
def test_a_closed_environment_refuses(namespace):
    env = build(namespace)
    env.reset(seed=0)
    env.close()
    with pytest.raises(gym.error.ClosedEnvironmentError, match="step"):
        env.step(np.zeros(2, dtype=np.int64))
    with pytest.raises(gym.error.ClosedEnvironmentError, match="reset"):
        env.reset()


def test_a_device_that_is_not_there_is_refused():
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="no CUDA device"):
            build("torch", device="cuda")
    with pytest.raises(ValueError, match="device must be"):
        build("torch", device="gpu")


def test_a_single_one_is_refused_with_the_way_to_many():
    with pytest.raises(gym.error.Error, match=r"gymnasium\.make_vec"):
        gym.make("simd/CartPole-v1")


def test_actions_that_may_only_be_read_are_copied():
    space = gym.spaces.MultiDiscrete([2, 2, 2], dtype=np.int64)
    actions = np.array([0, 1, 1])
    assert read_actions(actions, space) is actions
    actions.flags.writeable = False
    copy = read_actions(actions, space)
    assert copy.flags.writeable
    assert copy.tolist() == [0, 1, 1]
