"""From a config and spaces to exploration."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
from gymnasium.vector import VectorEnv

from agents.ppo.exploration.exploration import Exploration, ExplorationSettings
from agents.ppo.exploration.intrinsic_critic import IntrinsicCritic
from utils.config import PPOConfig
from utils.errors import ConfigError
from utils.exploration import IntrinsicCuriosity, Novelty, RandomNetworkDistillation
from utils.exploration.actions import ActionCode
from utils.exploration.whitening import Whitening
from utils.rollouts.transitions import TransitionRecord
from utils.seeding import derive_seed


def build_exploration(
    config: PPOConfig, env: VectorEnv, *, device: torch.device
) -> Exploration | None:
    """Build what `config.exploration` asks for; None where it asks for nothing.

    The networks' weights come from a stream of their own: the policy's are what they would be
    without.

    Raises:
        ConfigError: An option that somebody wrote does nothing for these spaces.
    """
    settings = config.exploration
    if settings.kind == "none":
        return None
    seed = derive_seed(config.seed, "exploration")
    observation_space = env.single_observation_space
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        novelty = _build_novelty(config, observation_space, env.single_action_space)
        critic = IntrinsicCritic(
            observation_space,
            hidden_dims=config.policy_kwargs.hidden_dims,
            activation=config.policy_kwargs.activation,
            feature_dim=config.policy_kwargs.feature_dim,
        )
    return Exploration(
        novelty,
        critic,
        TransitionRecord(
            n_steps=config.n_steps, n_envs=env.num_envs, observation_space=observation_space
        ),
        ExplorationSettings(
            gamma=settings.gamma,
            episodic=settings.episodic,
            learning_rate=settings.learning_rate,
            update_proportion=settings.update_proportion,
            n_epochs=config.n_epochs,
            batch_size=config.resolved_batch_size,
        ),
        n_envs=env.num_envs,
        device=device,
        seed=seed,
    )


def _build_novelty(
    config: PPOConfig, observation_space: gym.Space, action_space: gym.Space
) -> Novelty:
    settings = config.exploration
    whitening = Whitening(observation_space, limit=settings.clip_obs, n_frames=config.frame_stack)
    if "clip_obs" in settings.model_fields_set and not whitening.learns:
        raise ConfigError(
            f"'exploration.clip_obs' has no effect on the observation space {observation_space}: "
            "only numbers of a Box are scaled and clipped"
        )
    sizes: dict[str, Any] = {
        "hidden_dims": settings.hidden_dims,
        "feature_dim": settings.feature_dim,
    }
    if settings.kind == "rnd":
        return RandomNetworkDistillation(whitening, **sizes)
    return IntrinsicCuriosity(
        whitening, ActionCode(action_space), forward_weight=settings.forward_weight, **sizes
    )
