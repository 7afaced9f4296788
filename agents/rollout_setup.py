"""Collectors and buffers from a config: what on-policy agents set up alike."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from gymnasium.vector import VectorEnv

from utils.config import Config
from utils.normalization import RewardNormalizer
from utils.policy_factory import ActorCritic
from utils.rollouts import Collector, RolloutBuffer
from utils.rollouts.alternating_collector import AlternatingCollector, why_not_alternating
from utils.rollouts.compiled_collector import CompiledCollector, why_not_collected
from utils.rollouts.recording_collector import RecordingCollector
from utils.rollouts.transitions import TransitionRecord
from utils.seeding import derive_seed
from utils.vector_envs.action_mask import mask_width


def build_collector(
    env: VectorEnv,
    policy: ActorCritic,
    config: Config,
    *,
    hyperparameters: Mapping[str, float],
    device: torch.device,
    record: TransitionRecord | None = None,
) -> Collector:
    """Build the collector of the training environments, with its own random generator.

    Args:
        env: Training environments.
        policy: Acts in them.
        config: Of the run.
        hyperparameters: Their values at the start.
        device: Where the policy lives.
        record: Is filled with what every step led to, if somebody wants to know.
    """
    generator = torch.Generator(device=device)
    generator.manual_seed(derive_seed(config.seed, "policy"))
    normalizer = (
        RewardNormalizer(env.num_envs, gamma=hyperparameters["gamma"], limit=config.clip_reward)
        if config.normalize_reward
        else None
    )
    settings = {"device": device, "generator": generator, "reward_normalizer": normalizer}
    if record is not None:
        return RecordingCollector(env, policy, record=record, **settings)
    return Collector(env, policy, **settings)


def build_step_collector(
    env: VectorEnv,
    policy: ActorCritic,
    config: Config,
    *,
    hyperparameters: Mapping[str, float],
    device: torch.device,
    record: TransitionRecord | None = None,
    is_shared: bool = False,
    is_plain: bool = False,
) -> tuple[Collector, str]:
    """Build the fastest collector of rollouts of a fixed number of steps; see `build_collector`.

    `is_shared` says that other processes collect the rollout's other environments, `is_plain` that
    every step is to be looked at.

    Returns:
        The collector, and what collects and why nothing faster does, in a few words.
    """
    reason = why_not_collected(env, policy, normalizes_reward=config.normalize_reward)
    if is_plain:
        reason = "debug is set"
    if record is not None:
        reason = reason or "exploration reads what every step led to"
    seed = derive_seed(config.seed, "policy")
    generator = torch.Generator(device=device)
    generator.manual_seed(seed)
    if reason is None:
        collector = CompiledCollector(env, policy, device=device, generator=generator, seed=seed)
        return collector, "compiled rollouts"
    if device.type == "cuda" and record is None and not (is_shared or is_plain):
        halves = why_not_alternating(env, policy, normalizes_reward=config.normalize_reward)
        if halves is None:
            collector = AlternatingCollector(env, policy, device=device, generator=generator)
            return collector, "rollouts of two halves in turn"
        reason = f"{reason}; {halves}"
    collector = build_collector(
        env, policy, config, hyperparameters=hyperparameters, device=device, record=record
    )
    return collector, f"rollouts step by step ({reason})"


def build_rollout_buffer(
    env: VectorEnv,
    policy: ActorCritic,
    *,
    n_steps: int,
    sequence_length: int | None = None,
    device: torch.device | None = None,
) -> RolloutBuffer:
    """Allocate the buffer for rollouts of at most `n_steps` vector steps.

    Args:
        env: Its spaces and its number of environments are read.
        policy: Says what is stored.
        n_steps: Most steps of a rollout.
        sequence_length: Steps of a sequence of a policy with a memory; None for whole episodes.
        device: Where the policy lives, and what it has seen stays; None for ordinary memory.
    """
    return RolloutBuffer(
        n_steps=n_steps,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        distribution=policy.distribution,
        state_dim=0 if policy.memory is None else policy.memory.state_dim,
        sequence_length=sequence_length,
        mask_width=mask_width(env.single_action_space) or 0 if policy.has_masks else 0,
        observation_device=device,
    )
