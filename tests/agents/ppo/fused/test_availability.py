"""What the fused kernels are not made for is named."""

from __future__ import annotations

import re

import gymnasium as gym
import pytest

from agents.ppo.fused.availability import find_unsupported, why_not
from gym_envs.torch_envs import TorchVectorEnv
from utils.config import PPOConfig
from utils.policy_factory import build_policy, policy_settings_from_config


def _config(**changes) -> PPOConfig:
    settings = {
        "config_id": "test",
        "algo_id": "ppo",
        "env_id": "CartPole-v1",
        "n_envs": 4,
        "n_steps": 8,
        "batch_size": 16,
        "max_timesteps": 1000,
        "policy_lr": 1e-3,
    }
    return PPOConfig(**(settings | changes))


def _ask(**changes) -> str | None:
    config = _config(**changes)
    env = TorchVectorEnv(config.env_id, config.n_envs)
    settings = policy_settings_from_config(config, has_critic=True)
    policy = build_policy(env.single_observation_space, env.single_action_space, settings)
    return find_unsupported(policy, config, env)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"])
@pytest.mark.parametrize("hidden_dims", [[64, 64], [20], [128, 33]])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_small_actor_critics_are_known(env_id, hidden_dims, activation):
    kwargs = {"hidden_dims": hidden_dims, "activation": activation}
    assert _ask(env_id=env_id, policy_kwargs=kwargs) is None


def test_observations_may_be_normalised_by_the_bounds_of_their_space():
    assert _ask(normalize_obs="static") is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"policy_kwargs": {"hidden_dims": [64, 129]}}, "129.*more than 128"),
        ({"policy_kwargs": {"hidden_dims": [64, 64, 64]}}, "3 hidden layers"),
        ({"policy_kwargs": {"hidden_dims": []}}, "0 hidden layers"),
        ({"policy_kwargs": {"activation": "elu"}}, "elu"),
        ({"policy_kwargs": {"share_trunk": True}}, "share"),
        ({"normalize_obs": "rolling"}, "running moments"),
        ({"normalize_reward": True}, "normalize_reward"),
        ({"clip_range_vf": 0.2}, "clip_range_vf"),
        ({"target_kl": 0.02}, "target_kl"),
        ({"optimizer": "SGD"}, "SGD"),
        ({"optimizer_kwargs": {"amsgrad": True}}, "optimizer_kwargs"),
        ({"n_steps": 2**26, "batch_size": 2**28}, "2147483648 numbers"),
    ],
)
def test_the_reason_is_named(changes, reason):
    answer = _ask(**changes)
    assert answer is not None
    assert re.search(reason, answer), answer


def test_ordinary_environments_and_the_cpu_are_refused():
    config = _config()
    env = TorchVectorEnv("CartPole-v1", 4)
    settings = policy_settings_from_config(config, has_critic=True)
    policy = build_policy(env.single_observation_space, env.single_action_space, settings)
    assert why_not(policy, config, env) == "device is cpu"
    ordinary = gym.make_vec("CartPole-v1", 4)
    assert "torch environment" in str(why_not(policy, config, ordinary))
    ordinary.close()
