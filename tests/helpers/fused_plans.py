"""Policies that plan in a latent space, by fused kernels and operation by operation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from tests.helpers.triton_device import DEVICE
from utils.planning.mppi import PathIntegralSettings
from utils.policies.latent_planning_policy import LatentPlanningPolicy
from utils.world_models.actions import ActionCode
from utils.world_models.latent_dynamics import LatentDynamics, LatentSettings


def make_policy(
    *,
    n_actions: int = 3,
    n_proposals: int = 4,
    critics_are: str = "mean",
    ends: bool = False,
    planning: dict[str, Any] | None = None,
    model: dict[str, Any] | None = None,
) -> LatentPlanningPolicy:
    """Build a small policy whose last layers and biases are not 0."""
    sizes: dict[str, Any] = {
        "encoder_dim": 16,
        "encoder_layers": 2,
        "mlp_dim": 24,
        "latent_dim": 40,
        "n_critics": 3,
        "channels": 4,
        "simplex_dim": 8,
        "norm": "layer",
        "activation": "mish",
        "numbers": "two_hot",
        "begins": "normal",
        "prior": "squashed_normal",
    }
    plans: dict[str, Any] = {
        "horizon": 3,
        "n_iterations": 2,
        "n_candidates": 20,
        "n_elites": 6,
        "temperature": 0.5,
        "max_std": 2.0,
    }
    torch.manual_seed(0)
    bounds = gym.spaces.Box(-1.0, 1.0, (n_actions,), np.float32)
    policy = LatentPlanningPolicy(
        LatentDynamics(
            gym.spaces.Box(-np.inf, np.inf, (5,), np.float32),
            n_actions,
            LatentSettings(**sizes | (model or {})),
            predicts_end=ends,
        ),
        ActionCode(bounds, box="tanh_normal", algorithm="tdmpc"),
        PathIntegralSettings(**plans | (planning or {})),
        n_proposals=n_proposals,
        critics_are=critics_are,  # type: ignore[arg-type]
    )
    for parameter in policy.parameters():
        nn.init.normal_(parameter, std=0.4)
    policy.discount.fill_(0.9)
    policy.min_std.fill_(0.05)
    return policy.to(DEVICE)
