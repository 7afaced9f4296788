"""Policies and finished rollouts without an environment, for tests of updates."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch

from utils.dataloaders import UpdateBatch
from utils.policy_factory import ActorCritic, PolicySettings, build_policy
from utils.rollouts import RolloutBuffer


def make_policy(
    *,
    n_inputs: int = 4,
    n_actions: int = 2,
    is_box: bool = False,
    hidden_dims: tuple[int, ...] = (64, 64),
    activation: str = "tanh",
    seed: int = 0,
    **settings: object,
) -> ActorCritic:
    """Build a policy of vectors with one Discrete action, or a Box of `n_actions` dimensions."""
    torch.manual_seed(seed)
    defaults = {
        "orthogonal_init": True,
        "share_trunk": False,
        "log_std_init": -0.3,
        "feature_dim": 8,
        "normalize_obs": "none",
        "clip_obs": 10.0,
        "has_critic": True,
    }
    bounds = gym.spaces.Box(-1.0, 1.0, (n_actions,), np.float32)
    policy = build_policy(
        gym.spaces.Box(-9.0, 9.0, (n_inputs,), np.float32),
        bounds if is_box else gym.spaces.Discrete(n_actions),
        PolicySettings(hidden_dims=hidden_dims, activation=activation, **(defaults | settings)),
    )
    with torch.no_grad():  # no output may hide behind small or zero numbers
        for parameter in policy.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return policy


def make_rollout(policy: ActorCritic, *, n_steps: int = 16, n_envs: int = 8) -> RolloutBuffer:
    """Fill a buffer with random numbers, as if the policy had changed since it collected."""
    space = policy.encoder.space
    buffer = RolloutBuffer(
        n_steps=n_steps,
        n_envs=n_envs,
        observation_space=space,
        distribution=policy.distribution,
    )
    buffer.begin(n_steps)
    buffer.observation.normal_()
    with torch.no_grad():
        for t in range(n_steps):
            action, logprob, value = policy.act(buffer.observation[t])[:3]
            buffer.write_decision(t, action.numpy(), logprob, value)
    shape = (n_steps, n_envs)
    buffer.logprob += 0.2 * torch.randn(shape)
    buffer.value += 0.3 * torch.randn(shape)
    buffer.finish(
        advantage=1.0 + 2.0 * torch.randn(shape),
        returns=2.0 * torch.randn(shape),
        device=torch.device("cpu"),
    )
    return buffer


def make_batch(buffer: RolloutBuffer, *, batch_size: int, n_passes: int) -> UpdateBatch:
    """Cut shuffled minibatches of a finished rollout."""
    n = buffer.n_samples
    passes = [torch.randperm(n) for _ in range(n_passes)]
    return UpdateBatch("update", torch.cat(passes).view(-1, batch_size), buffer)
