"""Buffers, phases and sources from a config: what agents of a replay buffer set up alike."""

from __future__ import annotations

from pathlib import Path

import torch
from gymnasium.vector import VectorEnv

from utils.buffers import (
    Place,
    Priorities,
    SequenceBuffer,
    TransitionBuffer,
    TransitionLayout,
)
from utils.config import OffPolicyConfig, ReplayConfig
from utils.dataloaders import ReplayPace, ReplayPlan, ReplaySource
from utils.dataloaders.replay_source import STORED_MASK, stored_space
from utils.errors import ConfigError
from utils.phases import PhaseScheduler, UpdateBudget
from utils.policies import Policy
from utils.rollouts.experience_collector import ExperienceCollector, Explorer
from utils.seeding import derive_seed
from utils.vector_envs.action_mask import mask_width


def build_replay_source(
    config: OffPolicyConfig,
    env: VectorEnv,
    policy: Policy,
    explorer: Explorer,
    device: torch.device,
    *,
    acting_device: torch.device | None = None,
    rank: int = 0,
) -> ReplaySource:
    """Build collector, buffer, plan and source of the training environments.

    Args:
        config: Of the run.
        env: Training environments; of several processes those of this one.
        policy: What the explorer chooses with.
        explorer: Chooses actions while collecting.
        device: Where the policy lives, and the buffer.
        acting_device: Where the explorer wants observations; `device` if None.
        rank: Of this process.
    """
    collector = ExperienceCollector(env, policy, explorer, device=acting_device or device)
    place = find_place(config.buffer_folder, device)
    buffer = build_transition_buffer(config, env, policy, place=place)
    return ReplaySource(
        collector,
        buffer,
        build_replay_plan(config, collector, buffer),
        seed=derive_seed(config.seed, "replay", rank),
        reward_scale=config.reward_scale,
        generator_device=device,
    )


def find_place(folder: str | None, device: torch.device) -> Place:
    """Return where a buffer lies: on the disk of a folder, or where the networks live.

    Raises:
        ConfigError: There is no such folder, or a GPU would wait for a disk.
    """
    if folder is None:
        return Place(device=device)
    if device.type != "cpu":
        raise ConfigError(
            f"buffer_folder: updates on {device.type} draw from a buffer in the memory of that "
            "device: set buffer_folder to null, or device to cpu"
        )
    path = Path(folder)
    if not path.is_dir():
        raise ConfigError(f"buffer_folder: there is no folder '{path}'; make it, or name another")
    return Place(folder=path)


def build_replay_plan(
    config: ReplayConfig, collector: ExperienceCollector, buffer: TransitionBuffer | SequenceBuffer
) -> ReplayPlan:
    """Build the plan of collecting with `collector` into `buffer` and of the updates from it.

    Of several processes each follows the same plan: it counts the steps of all, which are alike,
    and draws its part of every batch.
    """
    n_processes = config.n_processes
    pace = ReplayPace(
        n_envs=collector.env.num_envs * n_processes,
        max_timesteps=config.max_timesteps,
        steps_per_epoch=config.steps_per_epoch,
        train_every_vec_steps=config.train_every_vec_steps,
        random_timesteps=config.learning_starts_timesteps,
        timesteps_before_updates=config.timesteps_before_updates,
        batch_size=config.batch_size // n_processes,
    )
    return ReplayPlan(
        pace,
        PhaseScheduler(config.phase_specs),
        UpdateBudget(config.exact_replay_ratio),
        timesteps=lambda: collector.timesteps,
        n_stored=lambda: buffer.n_added * n_processes,
    )


def build_transition_buffer(
    config: OffPolicyConfig, env: VectorEnv, policy: Policy, *, place: Place
) -> TransitionBuffer:
    """Allocate the buffer of the transitions of `env`: of several processes each has its part.

    Raises:
        ConfigError: There is no room for it.
    """
    width = mask_width(env.single_action_space) or 0 if policy.has_masks else 0
    layout = TransitionLayout(
        capacity=-(-config.buffer_transitions // config.n_processes),
        n_envs=env.num_envs,
        observation_space=stored_space(env.single_observation_space, mask_width=width),
        action_space=env.single_action_space,
        frame_stack=config.frame_stack,
        unstacked=(STORED_MASK,),
        priorities=(
            Priorities(alpha=config.priority_exponent) if config.prioritized_replay else None
        ),
    )
    return TransitionBuffer(layout, n_step=config.n_step, gamma=config.gamma, place=place)
