"""Buffers and sources of sequences: what agents that learn a model of the world set up alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from agents.replay_setup import build_phase_scheduler
from utils.buffers import Place, SequenceBuffer, SequenceLayout, StateField
from utils.config import WorldModelConfig
from utils.dataloaders import ReplayPace, ReplayPlan
from utils.dataloaders.sequence_source import SequenceSource
from utils.phases import UpdateBudget
from utils.policies.world_model_policy import Belief
from utils.rollouts.experience_collector import ExperienceCollector, Explorer
from utils.seeding import derive_seed
from utils.world_models import WorldModelSettings


def build_sequence_source(
    config: WorldModelConfig,
    env: VectorEnv,
    policy: Belief,
    explorer: Explorer,
    device: torch.device,
) -> SequenceSource:
    """Build collector, buffer, plan and source of the training environments.

    Args:
        config: Of the run.
        env: Training environments.
        policy: What the explorer chooses with.
        explorer: Chooses actions while collecting.
        device: Where the policy lives.
    """
    collector = ExperienceCollector(env, policy, explorer, device=device)
    buffer = build_sequence_buffer(config, env, policy, place=Place(device=device))
    pace = ReplayPace(
        n_envs=env.num_envs,
        max_timesteps=config.max_timesteps,
        steps_per_epoch=config.steps_per_epoch,
        train_every_vec_steps=config.train_every_vec_steps,
        random_timesteps=config.learning_starts_timesteps,
        timesteps_before_updates=config.timesteps_before_updates,
        batch_size=config.batch_size,
    )
    plan = ReplayPlan(
        pace,
        build_phase_scheduler(config),
        UpdateBudget(config.exact_replay_ratio),
        timesteps=lambda: collector.timesteps,
        n_stored=lambda: len(buffer),
    )
    return SequenceSource(
        collector,
        buffer,
        plan,
        seed=derive_seed(config.seed, "replay"),
        reward_scale=config.reward_scale,
        memory_of=memory_of(policy),
    )


def build_sequence_buffer(
    config: WorldModelConfig, env: VectorEnv, policy: Belief, *, place: Place
) -> SequenceBuffer:
    """Allocate the buffer of the sequences of `env`.

    Raises:
        ConfigError: There is no room for it.
    """
    rssm = policy.world_model.rssm
    deter_dtype = torch.float32 if place.device.type == "cpu" else torch.bfloat16
    layout = SequenceLayout(
        capacity=config.buffer_steps,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        action_space=policy.code.stored_space,
        sequence_length=config.rows_of_sequence,
        crosses_episodes=True,
        frame_stack=config.frame_stack,
        state={
            "deter": StateField((rssm.deter,), deter_dtype),
            "stoch": StateField((rssm.latent.stored_width,), rssm.latent.stored_dtype),
        },
    )
    return SequenceBuffer(
        layout, newest_first=config.newest_first, n_context=config.replay_context, place=place
    )


def memory_of(policy: Belief) -> Callable[[Tensor], Mapping[str, Tensor]]:
    """Return the function from rows of memory (N, state_dim) to the fields of the buffer."""
    latent = policy.world_model.rssm.latent

    def fields(state: Tensor) -> Mapping[str, Tensor]:
        belief, _ = policy.split(state)
        return {"deter": belief.deter, "stoch": latent.pack(belief.stoch)}

    return fields


def world_model_settings(config: WorldModelConfig) -> WorldModelSettings:
    """Return the shape of the world model that a config asks for."""
    names = WorldModelSettings.__dataclass_fields__
    return WorldModelSettings(**{name: getattr(config.policy_kwargs, name) for name in names})
