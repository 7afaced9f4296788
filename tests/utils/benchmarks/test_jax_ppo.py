"""The peer trains the same task: its environment, targets and optimiser are what ours are."""

import math

import numpy as np
import pytest
import torch

from gym_envs.torch_envs import TorchVectorEnv
from utils.returns import generalized_advantage

jax = pytest.importorskip("jax")
jax_ppo = pytest.importorskip("utils.benchmarks.jax_ppo")

SETTINGS = jax_ppo.JaxSettings(n_envs=16, n_steps=32, unroll=1)


def collect():
    key = jax.random.key(0)
    networks = {
        name: jax_ppo._init_network(key, (4, 8, n), last_gain=1.0)
        for name, n in (("actor", 2), ("critic", 1))
    }
    env = (jax_ppo._first_states(key, 16), np.zeros(16, np.int32))
    return networks, *jax_ppo._collect(networks, env, key, SETTINGS)


def test_environment_steps_as_ours():
    _, _, rollout, _ = collect()
    env = TorchVectorEnv("CartPole-v1", 16)
    env.reset(seed=0)
    for t in range(32):
        env.state.copy_(torch.from_numpy(np.array(rollout.observation[t]).T.copy()))
        step = env.step_tensors(torch.from_numpy(np.array(rollout.action[t])))
        np.testing.assert_allclose(step.final_observation, rollout.final[t], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(step.terminated, rollout.terminated[t])
    assert bool(rollout.terminated.any())


def test_advantages_are_ours():
    networks, _, rollout, _ = collect()
    fields = {
        "value": rollout.value,
        "next_value": jax_ppo._apply(networks["critic"], rollout.final)[..., 0],
        "terminated": rollout.terminated,
        "done": rollout.done,
    }
    tensors = {name: torch.from_numpy(np.array(field)) for name, field in fields.items()}
    expected, _ = generalized_advantage(
        reward=torch.ones(32, 16), **tensors, gamma=0.99, gae_lambda=0.95
    )
    ours = np.array(jax_ppo._advantages(networks, rollout, SETTINGS))
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)


def test_adam_is_torchs():
    parameters, gradient = {"w": np.array([1.0, -2.0])}, {"w": np.array([0.3, -0.1])}
    zeros = {"w": np.zeros(2)}
    ours, moments = parameters, (zeros, zeros, 0.0)
    weight = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=SETTINGS.policy_lr)
    for _ in range(3):
        ours, moments = jax_ppo._adam(ours, moments, gradient, SETTINGS)
        weight.grad = torch.tensor([0.3, -0.1], dtype=torch.float64)
        optimizer.step()
    np.testing.assert_allclose(ours["w"], weight.detach(), rtol=1e-6)
    assert math.isclose(float(moments[2]), 3.0)


@pytest.mark.slow
def test_it_learns():
    advance = jax_ppo.prepare_jax_training(
        jax_ppo.JaxSettings(n_envs=128, n_steps=32, unroll=1), seed=1
    )
    assert advance(10) < 80.0
    assert max(advance(10) for _ in range(14)) > 300.0
