"""Collectors and buffers from a config: what on-policy agents set up alike."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from gymnasium.vector import VectorEnv

from utils.config import Config
from utils.normalization import RewardNormalizer
from utils.policy_factory import ActorCritic
from utils.rollouts import Collector, RolloutBuffer
from utils.rollouts.compiled_collector import CompiledCollector, why_not_collected
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


def build_step_collector(
    env: VectorEnv,
    policy: ActorCritic,
    config: Config,
    *,
    hyperparameters: Mapping[str, float],
    device: torch.device,
) -> tuple[Collector, str]:
    """Build the fastest collector of rollouts of a fixed number of steps.

    Returns:
        The collector, and what collects and why nothing faster does, in a few words.
    """
    reason = why_not_collected(env, policy, normalizes_reward=config.normalize_reward)
    if reason is not None:
        collector = build_collector(
            env, policy, config, hyperparameters=hyperparameters, device=device
        )
        return collector, f"rollouts step by step ({reason})"
    seed = derive_seed(config.seed, "policy")
    generator = torch.Generator(device=device)
    generator.manual_seed(seed)
    collector = CompiledCollector(env, policy, device=device, generator=generator, seed=seed)
    return collector, "compiled rollouts"


def build_rollout_buffer(env: VectorEnv, policy: ActorCritic, *, n_steps: int) -> RolloutBuffer:
    """Allocate the buffer for rollouts of at most `n_steps` vector steps."""
    return RolloutBuffer(
        n_steps=n_steps,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
    )
