"""Policy, buffer and source of World Models from a config."""

from __future__ import annotations

import gymnasium as gym
import torch
from gymnasium.vector import VectorEnv

from agents.replay_setup import find_place
from utils.buffers import SequenceBuffer, SequenceLayout, StateField
from utils.config import WorldModelsConfig
from utils.config.algos.world_models import UPDATE_RNN, UPDATE_VAE
from utils.dataloaders.stretch_source import StretchSource
from utils.errors import ConfigError
from utils.mdn_rnn import MdnRnnModel, MdnRnnSettings
from utils.phases import PhaseScheduler
from utils.policies.linear_controller_policy import LinearControllerPolicy
from utils.rollouts.experience_collector import ExperienceCollector
from utils.rollouts.held_exploration import HeldRandomExplorer
from utils.seeding import derive_seed
from utils.world_models.actions import ActionCode


def build_policy(
    config: WorldModelsConfig, observation_space: gym.Space, action_space: gym.Space
) -> LinearControllerPolicy:
    """Build V, M and C for a pair of single spaces.

    Raises:
        ConfigError: Pictures or actions of another kind.
    """
    code = ActionCode(action_space, box="bounded_normal", algorithm="world_models")
    kwargs = config.policy_kwargs
    clipped = kwargs.clipped_actions
    if clipped and (not code.is_continuous or max(clipped) >= code.width):
        raise ConfigError(
            f"policy_kwargs.clipped_actions {list(clipped)} names numbers of a Box, and the action "
            f"space is {action_space}"
        )
    settings = MdnRnnSettings(
        latents=kwargs.latents,
        depth=kwargs.depth,
        units=kwargs.units,
        mixtures=kwargs.mixtures,
        joint_mixture=kwargs.joint_mixture,
    )
    model = MdnRnnModel(observation_space, code.width, settings)
    return LinearControllerPolicy(
        model, code, reads=kwargs.controller, clipped_actions=tuple(clipped)
    )


def build_source(
    config: WorldModelsConfig,
    env: VectorEnv,
    policy: LinearControllerPolicy,
    device: torch.device,
) -> StretchSource:
    """Build collector, buffer, phases and source of the training environments.

    Raises:
        ConfigError: The folder of the buffer is missing, or there is no room for it.
    """
    explorer = HeldRandomExplorer(
        policy,
        env.num_envs,
        held_steps=(config.held_steps[0], config.held_steps[1]),
        seed=derive_seed(config.seed, "policy"),
        device=device,
    )
    return StretchSource(
        ExperienceCollector(env, policy, explorer, device=device),
        _build_buffer(config, env, policy),
        PhaseScheduler(config.phase_specs),
        row_hooks={UPDATE_VAE: config.vae_batch_size},
        sequence_hooks={UPDATE_RNN: config.rnn_batch_size},
        updates_per_epoch=config.updates_per_epoch,
        seed=derive_seed(config.seed, "replay"),
        reward_scale=config.reward_scale,
    )


def _build_buffer(
    config: WorldModelsConfig, env: VectorEnv, policy: LinearControllerPolicy
) -> SequenceBuffer:
    latents = StateField((config.policy_kwargs.latents,))
    layout = SequenceLayout(
        capacity=config.buffer_steps,
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        action_space=policy.code.stored_space,
        sequence_length=config.sequence_length + 1,
        crosses_episodes=True,
        frame_stack=config.frame_stack,
        state={"mean": latents, "log_var": latents},
    )
    # Its batches are moved to the device one by one, wherever that is.
    place = find_place(config.buffer_folder, torch.device("cpu"))
    return SequenceBuffer(layout, place=place)
