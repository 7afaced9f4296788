"""Collect rollouts for agents that learn from their own experience."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from utils.distributed.share import Share
from utils.normalization import RewardNormalizer
from utils.policy_factory import ActorCritic
from utils.rollouts.buffer import RolloutBuffer
from utils.rollouts.stepper import (
    Observation,
    ObservationArray,
    Outcome,
    Stepper,
    forget,
    rows_of_all,
    to_tensors,
)

if TYPE_CHECKING:
    from utils.distributed.team import Team


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutSummary:
    """What happened while one rollout was collected; returns are raw and of whole episodes."""

    n_timesteps: int
    """Environment steps over all environments."""
    n_vec_steps: int
    n_episodes: int
    """Episodes that ended in this rollout."""
    episode_returns: list[float]
    """Returns of the last finished episodes (a window that reaches back over rollouts)."""
    episode_lengths: list[int]
    last_returns: list[float]
    """Returns of the episodes that ended in this rollout."""
    episode_metrics: dict[str, float] = field(default_factory=dict)
    """Means of what the environments tell of their latest episodes, by name."""


class _Final(NamedTuple):
    """Episodes that step `t` truncated, and what is needed to value their ends."""

    t: int
    rows: np.ndarray
    """(n,) which environments."""
    observation: ObservationArray
    """(n, ...) raw final observations."""
    state: Tensor | None
    """(n, state_dim) of the memory as the end was reached; None without a memory."""


class Collector:
    """Steps the training environments with the policy and writes a rollout buffer.

    Observations are normalised with statistics that take in each vector step before the policy
    sees it; the buffer stores what the policy saw, so that old and new log-probabilities agree.
    """

    def __init__(
        self,
        env: VectorEnv,
        policy: ActorCritic,
        *,
        device: torch.device,
        generator: torch.Generator,
        reward_normalizer: RewardNormalizer | None = None,
    ) -> None:
        """Bind environment and policy.

        Args:
            env: Vector environment with SAME_STEP autoreset.
            policy: Acts under `torch.inference_mode`.
            device: Where the policy lives.
            generator: Source of the policy's randomness, on `device`.
            reward_normalizer: Scales what the learner is paid; raw returns are not touched.
        """
        self.stepper = Stepper(env, policy, device=device)
        self.policy = policy
        self.device = device
        self.generator = generator
        self.reward_normalizer = reward_normalizer
        self.team: Team | None = None
        self._finals: list[_Final] = []

    def join(self, team: Team, share: Share) -> None:
        """Collect together with other processes, each with a share of the environments.

        All step in time with each other, and statistics take in the steps of all of them. The
        tracker keeps the episodes of this share alone; whoever joins them finds those of a rollout
        in `stepper.finished`.

        Args:
            team: The processes.
            share: What this one has.
        """
        assert share.n == self.env.num_envs, (share, self.env)
        self.team = team
        self.stepper.share = share
        self.stepper.finished = []
        if self.reward_normalizer is not None:
            self.reward_normalizer.gather = team.gather_rows

    @property
    def env(self) -> VectorEnv:
        """The training environments."""
        return self.stepper.env

    @property
    def has_started(self) -> bool:
        """Whether the environments have been reset, or restored."""
        return self.stepper.has_started

    def reset(self, *, seed: int) -> None:
        """Seed and reset the environments; called once, before the first rollout."""
        self.stepper.reset(seed=seed)

    def set_gamma(self, gamma: float) -> None:
        """Set the discount of the return that rewards are scaled by."""
        if self.reward_normalizer is not None:
            self.reward_normalizer.gamma = gamma

    @torch.inference_mode()
    def collect(self, buffer: RolloutBuffer, *, n_steps: int) -> RolloutSummary:
        """Fill the buffer with `n_steps` vector steps, going on where the last rollout stopped."""
        buffer.begin(n_steps)
        self._finals.clear()
        returns: list[float] = []
        for t in range(n_steps):
            finished = self._write_step(buffer, t).finished
            if finished is not None:
                returns += finished.returns.tolist()
        self._write_next_values(buffer)
        return self._summarize(n_steps, returns)

    @torch.inference_mode()
    def collect_episodes(self, buffer: RolloutBuffer, *, n_episodes: int) -> RolloutSummary:
        """Fill the buffer with exactly `n_episodes` whole episodes of every environment.

        All environments begin anew. One that is through waits for the others: its further steps
        are marked invalid and enter no statistic. A fixed number for each environment keeps short
        episodes from being counted more often than long ones.

        Raises:
            AssertionError: The buffer is too short for the episodes.
        """
        self.stepper.reset()
        if self.reward_normalizer is not None:
            self.reward_normalizer.running_return.zero_()
        buffer.begin(buffer.capacity)
        self._finals.clear()
        returns: list[float] = []
        remaining = np.full(self.env.num_envs, n_episodes)
        t = 0
        while self._is_any(remaining.any()):
            assert t < buffer.capacity, (t, buffer.capacity, remaining)
            active = remaining > 0
            buffer.is_valid[t] = torch.from_numpy(active)
            outcome = self._write_step(buffer, t, is_counted=active)
            remaining -= outcome.over & active
            if outcome.finished is not None:
                returns += outcome.finished.returns.tolist()
            t += 1
        buffer.shorten(t)
        self._write_next_values(buffer)
        return self._summarize(t, returns)

    def _write_step(
        self, buffer: RolloutBuffer, t: int, *, is_counted: np.ndarray | None = None
    ) -> Outcome:
        self._begin_step(buffer, t, is_counted=is_counted)
        return self._end_step(buffer, t, is_counted=is_counted)

    def _begin_step(
        self, buffer: RolloutBuffer, t: int, *, is_counted: np.ndarray | None = None
    ) -> None:
        """Let the policy act and the environments begin; write what it saw and did."""
        raw = self.stepper.observation
        if self.policy.normalizer.learns:
            counted = _counted_rows(raw, is_counted)
            self.policy.normalizer.update(rows_of_all(counted, self.team))
        observation = self.policy.normalize(raw)
        decision = self.stepper.decide(observation, generator=self.generator)
        action = decision.action.numpy(force=True)
        self.stepper.send(action)
        # From here on environments of other processes and threads play.
        is_as_given = observation is raw and self.device.type == "cpu"
        buffer.write_observation(t, self.stepper.observation_array if is_as_given else observation)
        if self.policy.has_memory:
            buffer.write_state(t, self.stepper.state)
        if self.policy.has_masks:
            buffer.write_mask(t, self.stepper.mask)
        buffer.write_decision(t, action, decision.logprob, decision.value)

    def _end_step(
        self, buffer: RolloutBuffer, t: int, *, is_counted: np.ndarray | None = None
    ) -> Outcome:
        """Write what the environments answer."""
        outcome = self.stepper.receive(is_counted=is_counted)
        reward = outcome.reward
        if self.reward_normalizer is not None:
            done = outcome.terminated | outcome.truncated
            self.reward_normalizer.update(reward, done, is_counted=is_counted)
            reward = self.reward_normalizer.apply_to(reward)
        buffer.write_reward(t, reward)
        final = outcome.infos.get("final_obs")
        if final is None:
            return outcome
        buffer.write_ends(t, outcome.terminated, outcome.truncated)
        needs_value = outcome.truncated & ~outcome.terminated
        if needs_value.any():
            rows = np.flatnonzero(needs_value)
            observation = _take_rows(final, rows)
            state = None if outcome.state is None else outcome.state[torch.from_numpy(rows)]
            self._finals.append(_Final(t, rows, observation, state))
        return outcome

    def _write_next_values(self, buffer: RolloutBuffer) -> None:
        """Fill next_value: V of the next row, or of the final observation where truncated."""
        if not self.policy.has_critic:
            buffer.next_value.zero_()
            return
        n = buffer.n_steps
        buffer.next_value[: n - 1] = buffer.value[1:n]
        buffer.next_value[n - 1] = self._predict(self.stepper.observation, self.stepper.state)
        if not self._finals:
            return
        observation = _concatenate([final.observation for final in self._finals])
        states = [final.state for final in self._finals if final.state is not None]
        values = self._predict(
            to_tensors(observation, self.device), torch.cat(states) if states else None
        )
        t = np.concatenate([np.full(len(final.rows), final.t) for final in self._finals])
        rows = np.concatenate([final.rows for final in self._finals])
        buffer.next_value[torch.from_numpy(t), torch.from_numpy(rows)] = values

    def _is_any(self, value: bool) -> bool:
        return value if self.team is None else self.team.any(value)

    def _predict(self, raw: Observation, state: Tensor | None) -> Tensor:
        return self.policy.predict_value(self.policy.normalize(raw), state=state).cpu()

    def _summarize(self, n_vec_steps: int, returns: list[float]) -> RolloutSummary:
        tracker = self.stepper.tracker
        return RolloutSummary(
            n_timesteps=n_vec_steps * self.env.num_envs,
            n_vec_steps=n_vec_steps,
            n_episodes=len(returns),
            last_returns=returns,
            episode_returns=list(tracker.window_returns),
            episode_lengths=list(tracker.window_lengths),
            episode_metrics=tracker.window_metrics.means(),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return environments, running episodes and random generator in plain containers.

        Valid between rollouts: where one was broken off, the environments may be a step ahead.
        """
        state: dict[str, Any] = {
            "env": self.env.get_state(),
            "tracker": self.stepper.tracker.state_dict(),
            "n_vec_steps": self.stepper.n_vec_steps,
            "generator": self.generator.get_state(),
            "generator_device": self.device.type,
        }
        if self.reward_normalizer is not None:
            state["reward_normalizer"] = self.reward_normalizer.state_dict()
        if self.stepper.state is not None:
            state["memory"] = self.stepper.state.cpu().clone()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> int:
        """Restore what `state_dict` returned.

        Returns:
            How many environments could not be restored. Their running episode is abandoned, as if
            truncated: it counts in no statistic, and a new one has begun.
        """
        observation, restored = self.env.set_state(state["env"])
        memory = state["memory"].to(self.device) if self.policy.has_memory else None
        self.stepper.restore(observation, None if memory is None else forget(memory, ~restored))
        self.stepper.n_vec_steps = state["n_vec_steps"]
        self.stepper.tracker.load_state_dict(state["tracker"])
        self._restore_generator(state)
        lost = np.flatnonzero(~restored)
        if self.reward_normalizer is not None:
            self.reward_normalizer.load_state_dict(state["reward_normalizer"])
            self.reward_normalizer.running_return[torch.from_numpy(lost)] = 0.0
        self.stepper.tracker.reset(lost)
        return len(lost)

    def _restore_generator(self, state: dict[str, Any]) -> None:
        if state["generator_device"] == self.device.type:
            self.generator.set_state(state["generator"])
        else:  # the generators of other devices draw other numbers
            self.generator.manual_seed(self.generator.initial_seed() + state["n_vec_steps"])


def _counted_rows(observation: Observation, is_counted: np.ndarray | None) -> Observation:
    if is_counted is None:
        return observation
    rows = torch.from_numpy(is_counted)
    if isinstance(observation, dict):
        return {key: part[rows.to(part.device)] for key, part in observation.items()}
    return observation[rows.to(observation.device)]


def _take_rows(observation: ObservationArray, rows: np.ndarray) -> ObservationArray:
    if isinstance(observation, dict):
        return {key: part[rows] for key, part in observation.items()}
    return observation[rows]


def _concatenate(parts: list[ObservationArray]) -> ObservationArray:
    if isinstance(parts[0], dict):
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return np.concatenate(parts)
