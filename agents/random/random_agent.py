"""An agent that learns nothing: the floor in every table."""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor
from typing_extensions import override

from agents.base_agent import BaseAgent
from agents.replay_records import record_episodes
from utils.config import RandomConfig
from utils.dataloaders import HookBatch
from utils.dataloaders.stream_source import StreamSource
from utils.policies.random_policy import RandomPolicy
from utils.rollouts.experience_collector import Decision, ExperienceCollector
from utils.rollouts.stepper import Observation
from utils.seeding import derive_seed


class RandomAgent(BaseAgent):
    """Plays, counts and reports as every agent does, with actions drawn evenly."""

    config: RandomConfig
    policy: RandomPolicy
    source: StreamSource

    @staticmethod
    @override
    def build_models(
        config: RandomConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> RandomPolicy:
        del observation_space
        return RandomPolicy(action_space, action_masks=config.action_masks)

    @override
    def build_source(self) -> StreamSource:
        generator = torch.Generator(device=self.compute_device)
        generator.manual_seed(derive_seed(self.config.seed, "policy"))
        explorer = _Draws(self.policy, generator)
        return StreamSource(
            ExperienceCollector(self.train_env, self.policy, explorer, device=self.compute_device),
            steps_per_epoch=self.config.steps_per_epoch,
            max_timesteps=self.config.max_timesteps,
        )

    @override
    def learn_from(self, batch: HookBatch) -> None:
        started = time.perf_counter()
        summary = self.source.collect(lambda _: None)
        self.count(summary)
        record_episodes(self.recorder, summary)
        self.recorder.record("train/time/rollout_seconds", time.perf_counter() - started)
        self.finish_epoch()


class _Draws:
    """An explorer that lets a `RandomPolicy` draw."""

    def __init__(self, policy: RandomPolicy, generator: torch.Generator) -> None:
        self._policy, self._generator = policy, generator

    def decide(self, observation: Observation, *, mask: Tensor | None, timesteps: int) -> Decision:
        """Draw an action for each environment."""
        del timesteps
        action = self._policy.act(observation, generator=self._generator, mask=mask).action
        return Decision(action, action)

    def draw(self, n: int, *, mask: Tensor | None) -> Decision:
        """Do the same."""
        return self.decide(torch.zeros(n, device=self._generator.device), mask=mask, timesteps=0)

    def state_dict(self) -> dict[str, Any]:
        """Return the generator's state and whose it is."""
        device = self._generator.device.type
        return {"generator": self._generator.get_state(), "device": device}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned, unless another device draws other numbers."""
        if state["device"] == self._generator.device.type:
            self._generator.set_state(state["generator"])
