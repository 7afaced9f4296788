"""Brax's networks in torch give Brax's numbers."""

import itertools
import types

import gymnasium as gym
import numpy as np
import pytest
import torch

from utils.brax_policies.policy import BraxPolicy, state_from_params

SPACES = gym.spaces.Box(-np.inf, np.inf, (3,)), gym.spaces.Box(-1.0, 1.0, (2,))


def layer(rng, n_in, n_out):
    return {"kernel": rng.normal(size=(n_in, n_out)), "bias": rng.normal(size=n_out)}


def params_of(rng, actor=(5,), critic=(4,)):
    moments = types.SimpleNamespace(mean=rng.normal(size=3), std=rng.uniform(0.5, 2.0, 3))

    def network(dims):
        sizes = list(itertools.pairwise(dims))
        return {"params": {f"hidden_{k}": layer(rng, *size) for k, size in enumerate(sizes)}}

    return moments, network((3, *actor, 4)), network((3, *critic, 1))


def test_by_hand():
    params = params_of(np.random.default_rng(0))
    policy = BraxPolicy(*SPACES, hidden_dims=(5,), value_dims=(4,))
    policy.load_state_dict(state_from_params(params))
    raw = np.random.default_rng(1).normal(size=(6, 3))

    def forward(x, network):
        first, second = (network["params"][f"hidden_{k}"] for k in (0, 1))
        hidden = x @ first["kernel"] + first["bias"]
        hidden = hidden / (1.0 + np.exp(-hidden))  # swish
        return hidden @ second["kernel"] + second["bias"]

    moments, actor, critic = params
    x = (raw - moments.mean) / moments.std
    output = forward(x, actor)
    with torch.no_grad():
        read = policy.normalize(torch.from_numpy(raw).float())
        step = policy.act(read, deterministic=True)
        thoughts = policy.explain(read)
    mean, spread = np.tanh(output[:, :2]), np.log1p(np.exp(output[:, 2:])) + 0.001
    np.testing.assert_allclose(step.action.numpy(), mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(thoughts["action_mean"].numpy(), mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        thoughts["action_std"].numpy(), spread * (1 - mean**2), rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(
        thoughts["value"].numpy(), forward(x, critic)[:, 0], rtol=1e-4, atol=1e-5
    )


def test_sampled_actions_spread_as_they_should():
    torch.manual_seed(0)
    policy = BraxPolicy(*SPACES, hidden_dims=(5,), value_dims=(4,))
    with torch.no_grad():
        read = torch.randn(1, 3).repeat(4000, 1)
        drawn = policy.act(read, generator=torch.Generator().manual_seed(1)).action.atanh()
        mean, std = policy.moments(read[:1])
    torch.testing.assert_close(drawn.mean(dim=0), mean[0], atol=0.08, rtol=0.0)
    torch.testing.assert_close(drawn.std(dim=0), std[0], rtol=0.06, atol=0.0)


def test_it_is_brax_that_it_agrees_with():
    pytest.importorskip("brax")
    import jax
    from brax.training.acme import running_statistics
    from brax.training.agents.ppo import networks

    made = networks.make_ppo_networks(3, 2, preprocess_observations_fn=running_statistics.normalize)
    moments = running_statistics.init_state(jax.numpy.zeros(3))
    moments = moments.replace(mean=jax.numpy.array([0.5, -1.0, 2.0]), std=jax.numpy.full(3, 1.5))
    params = (
        moments,
        made.policy_network.init(jax.random.PRNGKey(0)),
        made.value_network.init(jax.random.PRNGKey(1)),
    )
    policy = BraxPolicy(*SPACES, hidden_dims=(32,) * 4, value_dims=(256,) * 5)
    policy.load_state_dict(state_from_params(params))
    raw = np.random.default_rng(2).normal(size=(7, 3)).astype(np.float32)
    act = networks.make_inference_fn(made)(params, deterministic=True)
    wanted, _ = act(raw, jax.random.PRNGKey(2))
    value = made.value_network.apply(params[0], params[2], raw)
    with torch.no_grad():
        read = policy.normalize(torch.from_numpy(raw))
        np.testing.assert_allclose(
            policy.act(read, deterministic=True).action.numpy(), wanted, rtol=1e-4, atol=1e-5
        )
        np.testing.assert_allclose(policy.value_of(read).numpy(), value, rtol=1e-4, atol=1e-4)
