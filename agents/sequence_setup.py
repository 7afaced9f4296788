"""Buffers and sources of sequences: what agents that learn a model of the world set up alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import gymnasium as gym
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from agents.replay_setup import build_replay_plan, find_place
from utils.buffers import Place, Priorities, SequenceBuffer, SequenceLayout, StateField
from utils.config import SequenceConfig, TDMPCConfig, WorldModelConfig
from utils.dataloaders.sequence_source import SequenceSource
from utils.errors import ConfigError
from utils.rollouts.experience_collector import ExperienceCollector, Explorer, Step
from utils.seeding import derive_seed
from utils.spaces import unread_faults, unread_settings
from utils.world_models import WorldModelSettings
from utils.world_models.actions import ActionCode


class RememberingPolicy(Protocol):
    """What buffers and sources of sequences need to know of a policy."""

    code: ActionCode

    def kept_fields(self, device: torch.device) -> dict[str, StateField]:
        """Return what of its memory a buffer keeps of every step, by name."""

    def keep(self, state: Tensor) -> Mapping[str, Tensor]:
        """Return these fields, (N, ...) each, of rows of memory (N, state_dim)."""


def build_sequence_source(
    config: SequenceConfig,
    env: VectorEnv,
    policy: RememberingPolicy,
    explorer: Explorer,
    device: torch.device,
    *,
    rank: int = 0,
    on_step: Callable[[Step], object] | None = None,
) -> SequenceSource:
    """Build collector, buffer, plan and source of the training environments.

    Args:
        config: Of the run.
        env: Training environments; of several processes those of this one.
        policy: What the explorer chooses with.
        explorer: Chooses actions while collecting.
        device: Where the policy lives.
        rank: Of this process.
        on_step: Is shown every vector step before it is stored.
    """
    collector = ExperienceCollector(env, policy, explorer, device=device)
    place = find_place(config.buffer_folder, device)
    buffer = build_sequence_buffer(config, env, policy, place=place)
    return SequenceSource(
        collector,
        buffer,
        build_replay_plan(config, collector, buffer),
        seed=derive_seed(config.seed, "replay", rank),
        reward_scale=config.reward_scale,
        memory_of=policy.keep,
        on_step=on_step,
    )


def build_sequence_buffer(
    config: SequenceConfig, env: VectorEnv, policy: RememberingPolicy, *, place: Place
) -> SequenceBuffer:
    """Allocate the buffer of the sequences of `env`: of several processes each has its part.

    Raises:
        ConfigError: There is no room for it.
    """
    alpha = config.priority_power
    layout = SequenceLayout(
        capacity=-(-config.buffer_steps // config.n_processes),
        n_envs=env.num_envs,
        observation_space=env.single_observation_space,
        action_space=policy.code.stored_space,
        sequence_length=config.rows_of_sequence,
        crosses_episodes=config.CROSSES_EPISODES,
        frame_stack=config.frame_stack,
        state=policy.kept_fields(place.device),
        priorities=None if alpha is None else Priorities(alpha=alpha),
    )
    return SequenceBuffer(
        layout,
        newest_first=config.serves_newest_first,
        n_context=config.rows_of_context,
        place=place,
    )


def check_shape(config: WorldModelConfig | TDMPCConfig, space: gym.Space) -> None:
    """Refuse what somebody wrote of a model's shape and what nothing reads.

    Args:
        config: Of the run.
        space: Single observation space.

    Raises:
        ConfigError: One line for each such setting.
    """
    kwargs = config.policy_kwargs
    written = kwargs.model_fields_set
    unread = unread_settings(space, of_pictures=kwargs.OF_PICTURES, of_numbers=kwargs.OF_NUMBERS)
    faults = unread_faults(space, unread, written)
    off = {option for rule in config.EFFECT_RULES if rule.is_off(config) for option in rule.options}
    read = [
        name
        for name in kwargs.widths()
        if name not in unread and f"policy_kwargs.{name}" not in off
    ]
    if "size" in written and written.issuperset(read):
        given = ", ".join(read)
        faults.append(f"'policy_kwargs.size' has no effect: every width is given ({given})")
    if faults:
        raise ConfigError("\n".join(faults))


def world_model_settings(config: WorldModelConfig) -> WorldModelSettings:
    """Return the shape of the world model that a config asks for."""
    names = WorldModelSettings.__dataclass_fields__
    return WorldModelSettings(**{name: getattr(config.policy_kwargs, name) for name in names})
