"""A policy that does what others did in the same situation."""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn

from utils.distributions import DiagonalNormal
from utils.normalization.min_max import MinMaxScale, build_min_max_normalizer
from utils.policies.actor_critic import ActorCritic, Observation, PolicyEvaluation, PolicyStep

_IN_UNITS = ("action_mean", "action_std")
"""What a distribution tells of an action in the units of the environment."""


class ClonedPolicy(nn.Module):
    """An actor whose numbers, what it sees and what it does, are scaled by demonstrations.

    See `utils.policies.Policy`. Choices are not scaled.
    """

    has_memory = False
    memory = None
    has_masks = False
    has_critic = False

    def __init__(
        self,
        actor: ActorCritic,
        observation_space: gym.Space,
        action_space: gym.Space,
        *,
        draws: bool,
    ) -> None:
        """Hold the actor; scales are the identity until they are fitted to demonstrations.

        Args:
            actor: Without a critic, a memory or a normaliser of its own.
            observation_space: Single observation space.
            action_space: Single action space.
            draws: Sample where it is not asked for the likeliest; false: it never does.
        """
        super().__init__()
        self.actor, self.draws = actor, draws
        self.normalizer = build_min_max_normalizer(observation_space)
        is_box = isinstance(action_space, gym.spaces.Box)
        self.action_scale = MinMaxScale(action_space.shape) if is_box else None

    def initial_state(self, n: int) -> None:
        """Return the memory of n environments: there is none."""
        del n

    def normalize(self, observation: Observation) -> Observation:
        """Return raw observations (B, ...) as the other methods read them."""
        return observation if self.normalizer.is_identity else self.normalizer(observation)

    def to_env(self, action: Tensor) -> Tensor:
        """Return actions (B, ...) of the actor in the units of the environment."""
        return action if self.action_scale is None else self.action_scale.inverse(action)

    def mode(self, observation: Observation) -> Tensor:
        """Return the likeliest action of each row in the units of the actor, (B, ...)."""
        parameters, _ = self.actor(observation)
        return self.actor.distribution.mode(parameters)

    def evaluate_actions(self, observation: Observation, action: Tensor) -> PolicyEvaluation:
        """Return log-probability and entropy of actions (B, ...) in the units of the actor."""
        return self.actor.evaluate_actions(observation, action)

    def act(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None = None,
        deterministic: bool = False,
        mask: Tensor | None = None,
        state: Tensor | None = None,
    ) -> PolicyStep:
        """Choose an action for each row; see `ActorCritic.act`."""
        del mask, state
        step = self.actor.act(
            observation, generator=generator, deterministic=deterministic or not self.draws
        )
        return step._replace(action=self.to_env(step.action))

    def explain(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return what a choice rests on, by name; see `ActorCritic.explain`."""
        del mask, state
        return self._in_units(self.actor.explain(observation))

    def export_outputs(
        self, observation: Observation, *, mask: Tensor | None = None, state: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return all that an exported policy tells of each row; see `Policy`."""
        del mask, state
        outputs = self._in_units(self.actor.export_outputs(observation))
        return outputs | {"action": self.to_env(outputs["action"])}

    def _in_units(self, told: dict[str, Tensor]) -> dict[str, Tensor]:
        """Scale what is told of a Box; a clone that never draws has no deviation to tell."""
        if self.action_scale is None:
            return told
        shape = self.action_scale.centre.shape
        told = {
            name: value.reshape(-1, *shape) if name in _IN_UNITS else value
            for name, value in told.items()
        }
        told["action_mean"] = self.to_env(told["action_mean"])
        if self.draws:
            told["action_std"] = told["action_std"] * self.action_scale.half_range
            return told
        return {
            name: value for name, value in told.items() if name not in ("action_std", "entropy")
        }

    def action_std(self) -> float | None:
        """Return the mean deviation of continuous actions as the actor has it; None without one."""
        is_normal = isinstance(self.actor.distribution, DiagonalNormal)
        return self.actor.action_std() if self.draws and is_normal else None
