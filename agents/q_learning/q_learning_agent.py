"""Tabular Q-learning.

Watkins 1989, "Learning from delayed rewards"; Sutton and Barto 2018, section 6.5.
"""

from __future__ import annotations

import time

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from agents.base_agent import BaseAgent
from agents.replay_records import record_episodes
from utils.config import QLearningConfig
from utils.dataloaders import HookBatch
from utils.dataloaders.stream_source import StreamSource
from utils.policies.q_table import QTable
from utils.rollouts.epsilon_greedy import EpsilonGreedy
from utils.rollouts.experience_collector import ExperienceCollector, Step
from utils.rollouts.stepper import Observation
from utils.schedules import schedule_value
from utils.seeding import derive_seed


class QLearningAgent(BaseAgent):
    """Every step is learnt once, as it comes, into a table of values."""

    config: QLearningConfig
    policy: QTable
    source: StreamSource

    @staticmethod
    @override
    def build_models(
        config: QLearningConfig, observation_space: gym.Space, action_space: gym.Space
    ) -> QTable:
        return QTable(
            observation_space,
            action_space,
            initial_value=config.initial_value,
            action_masks=config.action_masks,
        )

    @override
    def build_learner(self) -> None:
        from agents.q_learning.q_learning_compiled import learn_step

        self._learn_step = learn_step
        self._state = np.zeros(self.train_env.num_envs, dtype=np.int64)
        """Rows of the table that the last decision was made in."""
        self._no_masks = np.zeros((0, self.policy.q.shape[1]), dtype=bool)
        self._errors = 0.0
        self.policy.cpu()  # a table is looked up, not computed

    @override
    def build_source(self) -> StreamSource:
        config = self.config
        explorer = EpsilonGreedy(
            self.choose_best,
            epsilon=self.epsilon_at,
            n_actions=self.policy.q.shape[1],
            seed=derive_seed(config.seed, "policy"),
        )
        return StreamSource(
            ExperienceCollector(self.train_env, self.policy, explorer, device=torch.device("cpu")),
            steps_per_epoch=config.steps_per_epoch,
            max_timesteps=config.max_timesteps,
        )

    def epsilon_at(self, timesteps: int) -> float:
        """Return the probability of a random action."""
        limit = self.config.max_timesteps
        return schedule_value(self.config.epsilon, timesteps=timesteps, max_timesteps=limit)

    def choose_best(self, observation: Observation, mask: Tensor | None) -> np.ndarray:
        """Return the best actions for observations (N, ...), (N,) int64."""
        q = self.policy.q.numpy()[self.policy.state_index(observation).numpy()]
        return (q if mask is None else np.where(mask.numpy(), q, -np.inf)).argmax(axis=1)

    @override
    def learn_from(self, batch: HookBatch) -> None:
        started = time.perf_counter()
        self._state = self._current_state()
        summary = self.source.collect(self._learn)
        self.count(summary)
        self.counters.updates += summary.n_timesteps
        record_episodes(self.recorder, summary)
        record = self.recorder.record
        record("train/q_learning/td_error", self._errors / summary.n_timesteps)
        self._errors = 0.0
        is_seen = self.policy.n_visits > 0
        seen_states = is_seen.any(dim=1)
        record("train/q_learning/q_mean", float(self.policy.q[seen_states].amax(dim=1).mean()))
        record("train/q_learning/visited_fraction", float(is_seen.double().mean()))
        record("train/time/rollout_seconds", time.perf_counter() - started)
        self.finish_epoch()

    def _learn(self, step: Step) -> None:
        """Learn one vector step."""
        following = self._current_state()
        reached = following
        if step.final_observation is not None:
            over = step.terminated | step.truncated
            final = torch.from_numpy(step.final_observation)
            reached = following.copy()
            reached[over] = self.policy.state_index(final).numpy()[over]
        allowed = self._no_masks
        if step.next_mask is not None:
            allowed = step.next_mask
            if step.final_mask is not None:
                allowed = np.where(step.truncated[:, None], step.final_mask, allowed)
        self._errors += self._learn_step(
            (self.policy.q.numpy(), self.policy.n_visits.numpy()),
            (
                self._state,
                step.stored_action.numpy(),
                step.reward * self.config.reward_scale,
                reached,
                step.terminated,
            ),
            allowed,
            self.config.gamma,
            self.hyperparameters["policy_lr"],
        )
        self._state = following

    def _current_state(self) -> np.ndarray:
        return self.policy.state_index(self.source.collector.stepper.observation).numpy()
