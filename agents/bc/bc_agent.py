"""Behaviour cloning: do what was done.

Pomerleau 1989, "ALVINN: An autonomous land vehicle in a neural network".
"""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn
from typing_extensions import override

from agents.bc.bc_losses import distance, negative_likelihood, squared_error
from agents.imitation_agent import ImitationAgent
from utils.config import BCConfig
from utils.demonstrations.windows import Window
from utils.errors import ConfigError
from utils.policies.cloned_policy import ClonedPolicy
from utils.policy_factory import PolicySettings, build_policy


class BCAgent(ImitationAgent):
    """Regression of demonstrated actions on what was seen."""

    config: BCConfig
    policy: ClonedPolicy  # type: ignore[assignment]

    @staticmethod
    @override
    def build_models(
        config: BCConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> ClonedPolicy:
        clone = resolve_clone(config.clone, action_space)
        kwargs = config.policy_kwargs
        settings = PolicySettings(
            hidden_dims=tuple(kwargs.hidden_dims),
            activation=kwargs.activation,
            orthogonal_init=kwargs.orthogonal_init,
            share_trunk=True,
            log_std_init=0.0,
            feature_dim=kwargs.feature_dim,
            normalize_obs="none",
            clip_obs=config.clip_obs,
            has_critic=False,
            written=frozenset(kwargs.model_fields_set),
        )
        actor = build_policy(observation_space, action_space, settings)
        draws = clone != "deterministic"
        return ClonedPolicy(actor, observation_space, action_space, draws=draws)

    @override
    def build_student(self) -> nn.Module:
        self.clone = resolve_clone(self.config.clone, self.train_env.single_action_space)
        return self.policy.actor

    @override
    def losses(self, window: Window, generator: torch.Generator, *, is_learning: bool) -> Tensor:
        observation, demonstrated = _present(window.observation), window.action[:, 0]
        if self.clone == "deterministic":
            return squared_error(self.policy.mode(observation), demonstrated)
        evaluation = self.policy.evaluate_actions(observation, demonstrated)
        return negative_likelihood(evaluation.logprob)

    @override
    def action_error(self, window: Window, generator: torch.Generator) -> Tensor:
        action = self.policy.mode(_present(window.observation))
        is_choice = self.clone == "categorical"
        return distance(action, window.action[:, 0], is_choice=is_choice)


def resolve_clone(clone: str, action_space: gym.Space) -> str:
    """Return what is cloned in an action space: deterministic, gaussian or categorical.

    Raises:
        ConfigError: The space has no such actions.
    """
    is_box = isinstance(action_space, gym.spaces.Box)
    if clone == "auto":
        return "deterministic" if is_box else "categorical"
    if is_box == (clone == "categorical"):
        fitting = "deterministic or gaussian" if is_box else "categorical"
        raise ConfigError(
            f"clone: {clone} does not fit the action space {action_space}: use {fitting}"
        )
    return clone


def _present(observation: Tensor | dict[str, Tensor]) -> Tensor | dict[str, Tensor]:
    if isinstance(observation, dict):
        return {key: part[:, -1] for key, part in observation.items()}
    return observation[:, -1]
