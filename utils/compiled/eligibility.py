"""Which policies the compiled functions know; asked before numba is imported."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch

from utils.distributions import Categorical, DiagonalNormal
from utils.models import TwinTrunks
from utils.policy_factory import ActorCritic


def find_special_part(policy: ActorCritic) -> str | None:
    """Say in a few words which part of a policy only its own methods know; None without one."""
    reasons = {
        "the policy has a memory": policy.has_memory,
        "actions are masked": policy.has_masks,
        "value_normalization is popart": policy.normalizes_value,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def why_not_compiled(policy: ActorCritic) -> str | None:
    """Say in a few words why the compiled functions cannot stand in for a policy; None if they can.

    They know separate MLPs for actor and critic with tanh or ReLU, vectors of float32 as
    observations, and one Discrete or Box action.
    """
    space = policy.encoder.space
    parameters = list(policy.parameters())
    if reason := find_special_part(policy):
        return reason
    if not isinstance(policy.trunk, TwinTrunks):
        return "actor and critic share a trunk or there is no critic"
    if policy.trunk.activation_name not in ("tanh", "relu"):
        return f"the activation is {policy.trunk.activation_name}"
    if not isinstance(policy.distribution, Categorical | DiagonalNormal):
        return f"the action distribution is {type(policy.distribution).__name__}"
    if not isinstance(space, gym.spaces.Box) or space.dtype not in (np.float32, np.float64):
        return "observations are not one vector of floats"
    if any(True for _ in policy.encoder.parameters()):
        return "observations are pictures"
    if any(p.device.type != "cpu" or p.dtype != torch.float32 for p in parameters):
        return "the parameters are not float32 on the CPU"
    if not all(p.requires_grad and p.is_contiguous() for p in parameters):
        return "some parameters are frozen"
    return None
