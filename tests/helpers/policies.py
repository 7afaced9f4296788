"""Small real policies."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium.vector import VectorEnv

from utils.policy_factory import ActorCritic, PolicySettings, build_policy


def build_linear_policy(env: VectorEnv, **changes: Any) -> ActorCritic:
    """Build a policy without hidden layers for the spaces of `env`, always with equal weights.

    Args:
        env: Its single spaces are read.
        changes: Settings that differ from the plainest ones.
    """
    settings = {
        "hidden_dims": (),
        "activation": "tanh",
        "orthogonal_init": True,
        "share_trunk": False,
        "log_std_init": 0.0,
        "feature_dim": 8,
        "normalize_obs": "none",
        "clip_obs": 10.0,
        "has_critic": True,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return build_policy(
            env.single_observation_space,
            env.single_action_space,
            PolicySettings(**(settings | changes)),
        )
