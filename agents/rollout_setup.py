"""Collectors and buffers from a config: what on-policy agents set up alike."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from gymnasium.vector import VectorEnv

from utils.config import Config
from utils.normalization import RewardNormalizer
from utils.policy_factory import ActorCritic
from utils.rollouts import Collector, RolloutBuffer
from utils.seeding import derive_seed


def build_collector(
    env: VectorEnv,
    policy: ActorCritic,
    config: Config,
    *,
    hyperparameters: Mapping[str, float],
    device: torch.device,
) -> Collector:
    """Build the collector of the training environments, with its own random generator."""
    generator = torch.Generator(device=device)
    generator.manual_seed(derive_seed(config.seed, "policy"))
    normalizer = (
        RewardNormalizer(env.num_envs, gamma=hyperparameters["gamma"], limit=config.clip_reward)
        if config.normalize_reward
        else None
    )
    return Collector(env, policy, device=device, generator=generator, reward_normalizer=normalizer)


def build_rollout_buffer(env: VectorEnv, policy: ActorCritic, *, n_steps: int) -> RolloutBuffer:
    """Allocate the buffer for rollouts of at most `n_steps` vector steps."""
    return RolloutBuffer(
        n_steps=n_steps,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
