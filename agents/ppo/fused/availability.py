"""Whether the fused kernels can train a policy; needs no Triton."""

from __future__ import annotations

import gymnasium as gym

from agents.ppo.fused.layout import (
    MAX_ACTION_DIMS,
    MAX_CHOICES,
    MAX_INPUTS,
    MAX_WIDTH,
    policy_layout,
)
from gym_envs.torch_envs import TorchVectorEnv
from utils.compiled.eligibility import find_special_part
from utils.config import PPOConfig
from utils.distributions import Categorical, DiagonalNormal
from utils.models import TwinTrunks
from utils.models.triton_support import why_no_triton
from utils.policy_factory import ActorCritic

_OPTIMIZERS = ("Adam", "AdamW")
_OPTIMIZER_KWARGS = {"betas", "eps", "weight_decay"}
_MAX_NUMBERS = 2**31
"""Of all samples together: the kernels count them in 32 bits."""


def why_not(policy: ActorCritic, config: PPOConfig, env: gym.vector.VectorEnv) -> str | None:
    """Say what keeps the fused kernels from training a policy here; None if nothing does.

    Args:
        policy: Actor and critic.
        config: Of the run.
        env: The training environment.
    """
    reason = find_unsupported(policy, config, env)
    if reason is not None:
        return reason
    assert isinstance(env, TorchVectorEnv)
    if env.device.type != "cuda":
        return f"device is {env.device.type}"
    return why_no_triton()


def find_unsupported(
    policy: ActorCritic, config: PPOConfig, env: gym.vector.VectorEnv
) -> str | None:
    """Say what of policy, settings or environment the kernels do not know, on any machine."""
    reason = _fault_of_environment(env) or _fault_of_policy(policy) or _fault_of_config(config)
    if reason is not None:
        return reason
    n = config.rollout_size * policy_layout(policy).stride
    return f"a rollout has {n} numbers, 2^31 or more" if n >= _MAX_NUMBERS else None


def _fault_of_environment(env: gym.vector.VectorEnv) -> str | None:
    if not isinstance(env, TorchVectorEnv):
        return "the environment is not a torch environment"
    spec = env.spec_of_physics
    if spec.n_observation > MAX_INPUTS:
        return f"an observation has {spec.n_observation} numbers, more than {MAX_INPUTS}"
    if spec.n_actions > MAX_CHOICES:
        return f"there are {spec.n_actions} actions, more than {MAX_CHOICES}"
    return None


def _fault_of_policy(policy: ActorCritic) -> str | None:
    trunk = policy.trunk
    if reason := find_special_part(policy):
        return reason
    if not isinstance(trunk, TwinTrunks):
        return "actor and critic share a trunk"
    if any(True for _ in policy.encoder.parameters()):
        return "the encoder has weights"
    if policy.normalizer.learns:
        return "observations are normalised by running moments"
    if trunk.activation_name not in ("tanh", "relu"):
        return f"activation is {trunk.activation_name}"
    widths = [weight.shape[2] for weight in trunk.weights]
    if len(widths) not in (1, 2):
        return f"there are {len(widths)} hidden layers, not 1 or 2"
    if max(widths) > MAX_WIDTH:
        return f"hidden_dims {widths} has more than {MAX_WIDTH} units"
    return _fault_of_actions(policy)


def _fault_of_actions(policy: ActorCritic) -> str | None:
    distribution = policy.distribution
    if isinstance(distribution, Categorical):
        return None
    if isinstance(distribution, DiagonalNormal):
        n = policy.actor_head.log_std.shape[0]
        return None if n <= MAX_ACTION_DIMS else f"actions have {n} numbers"
    return f"actions follow {type(distribution).__name__}"


def _fault_of_config(config: PPOConfig) -> str | None:
    reasons = {
        "clip_range_vf is set": config.clip_range_vf is not None,
        f"exploration.kind is {config.exploration.kind}": config.exploration.kind != "none",
        "target_kl is set": config.target_kl is not None,
        "normalize_reward is set": config.normalize_reward,
        f"optimizer is {config.optimizer}": config.optimizer not in _OPTIMIZERS,
        "optimizer_kwargs has more than betas, eps and weight_decay": bool(
            set(config.optimizer_kwargs) - _OPTIMIZER_KWARGS
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
