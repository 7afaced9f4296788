"""Collect experience step by step for agents that learn from stored or passing transitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from utils.distributed.share import Share
from utils.policies import Policy
from utils.rollouts.collector import RolloutSummary
from utils.rollouts.stepper import Observation, ObservationArray, Stepper, forget, rows_of_all
from utils.vector_envs.action_mask import FINAL_ACTION_MASK

if TYPE_CHECKING:
    from utils.distributed.team import Team


class Decision(NamedTuple):
    """What N environments shall do, and how the learner shall remember it."""

    action: Tensor
    """(N, ...) as a policy draws them: choices count from 0, a Box has the environment's units."""
    stored: Tensor
    """(N, ...) what the learner reads: the same, or the units that its networks work in."""
    state: Tensor | None = None
    """(N, state_dim) what the policy remembers now, this observation taken in; None without a
    memory, and where nobody looked."""


class Explorer(Protocol):
    """Chooses actions while experience is collected; owns the randomness of it.

    That of a policy with a memory is also given `state`, (N, state_dim), what the policy remembered
    before the observation.
    """

    def decide(self, observation: Observation, *, mask: Tensor | None, timesteps: int) -> Decision:
        """Choose with the policy as it is, and explore.

        Args:
            observation: (N, ...) raw.
            mask: (N, n) bool, which choices are allowed; None without action masks.
            timesteps: Environment steps so far, for whatever follows a schedule.
        """

    def draw(self, n: int, *, mask: Tensor | None) -> Decision:
        """Choose for n environments without looking: a warm-up's actions, drawn evenly."""

    def state_dict(self) -> dict[str, Any]:
        """Return the generators as plain containers."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""


class Step(NamedTuple):
    """One vector step of N environments, valid until the next one has been made."""

    stored_action: Tensor
    """(N, ...)"""
    reward: np.ndarray
    """(N,) float64, as the wrappers of the learner pay it."""
    terminated: np.ndarray
    truncated: np.ndarray
    next_observation: ObservationArray
    """(N, ...) raw, what the environments show now, after resets where any were."""
    next_mask: np.ndarray | None
    """(N, n) bool, which actions that allows; None without action masks."""
    final_observation: ObservationArray | None
    """(N, ...) valid where an episode ended; None where none did."""
    state: Tensor | None
    """(N, state_dim) what the policy remembered when it chose; None without a memory."""
    final_mask: np.ndarray | None = None
    """(N, n) bool, which actions the final observation allows, valid where an episode was
    truncated; None where none ended, and without action masks."""


class ExperienceCollector:
    """Steps the training environments and hands on what happened, one vector step at a time.

    It knows episodes, not losses. Observations are handed on raw: a learner that reads them again
    later normalises them with the statistics of its own day.
    """

    def __init__(
        self, env: VectorEnv, policy: Policy, explorer: Explorer, *, device: torch.device
    ) -> None:
        """Bind environment and explorer.

        Args:
            env: Vector environment with SAME_STEP autoreset.
            policy: Whose normaliser learns from each step, and who says whether there are masks.
            explorer: Chooses the actions.
            device: Where the explorer wants observations.
        """
        self.stepper = Stepper(env, policy, device=device)
        self.policy = policy
        self.explorer = explorer
        self.team: Team | None = None
        self._n_vec_steps = 0
        self._returns: list[float] = []

    def join(self, team: Team, share: Share) -> None:
        """Collect together with other processes, each with a share of the environments.

        Moments of observations take in the rows of all at every vector step. The tracker keeps the
        episodes of this share alone; whoever joins them finds those of a stretch in
        `stepper.finished`.

        Args:
            team: The processes, which step in time with each other.
            share: What this one has.
        """
        assert share.n == self.env.num_envs, (share, self.env)
        self.team = team
        self.stepper.share = share
        self.stepper.finished = []

    @property
    def env(self) -> VectorEnv:
        """The training environments."""
        return self.stepper.env

    @property
    def has_started(self) -> bool:
        """Whether the environments have been reset, or restored."""
        return self.stepper.has_started

    @property
    def timesteps(self) -> int:
        """Environment steps since the run began, over all environments of all processes."""
        share = self.stepper.share
        n_envs = self.env.num_envs if share is None else share.total
        return self.stepper.n_vec_steps * n_envs

    def reset(self, *, seed: int) -> None:
        """Seed and reset the environments; called once, before the first step."""
        self.stepper.reset(seed=seed)

    @torch.inference_mode()
    def collect(
        self,
        n_vec_steps: int,
        *,
        is_random: bool,
        write: Callable[[Step], object],
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Make some vector steps, going on where the last ones stopped.

        Args:
            n_vec_steps: How many, >= 0.
            is_random: Choose without looking.
            write: Is given every step before the next one is made.
            meanwhile: Is called once the actions of the last step have been chosen, before
                anybody waits for what it led to.
        """
        stepper, explorer, n_envs = self.stepper, self.explorer, self.env.num_envs
        normalizer = self.policy.normalizer
        for n_left in range(n_vec_steps, 0, -1):
            observation, mask = stepper.observation, stepper.mask
            if normalizer.learns:
                normalizer.update(rows_of_all(observation, self.team))
            if is_random:
                decision = explorer.draw(n_envs, mask=mask)
            else:
                memory = {} if stepper.state is None else {"state": stepper.state}
                decision = explorer.decide(
                    observation, mask=mask, timesteps=self.timesteps, **memory
                )
            state = decision.state
            if self.policy.has_memory:
                # Who acts without looking has nothing to remember.
                state = self.policy.initial_state(n_envs) if state is None else state
                stepper.remember(state)
            stepper.send(decision.action)
            if meanwhile is not None and n_left == 1:
                # What a graph gave is only lent; here it outlives other work of the device.
                decision = decision._replace(stored=decision.stored.clone())
                with torch.inference_mode(False):
                    meanwhile()
            outcome = stepper.receive()
            final = outcome.infos.get("final_obs")
            if final is not None:
                # The stepper looks at truncated rows only; here somebody stores the others too.
                stepper.check_finite("final observation", final, rows=outcome.terminated)
            if outcome.finished is not None:
                self._returns += outcome.finished.returns.tolist()
            write(
                Step(
                    decision.stored,
                    outcome.reward,
                    outcome.terminated,
                    outcome.truncated,
                    stepper.observation_array,
                    stepper.mask_array,
                    final,
                    state,
                    outcome.infos.get(FINAL_ACTION_MASK),
                )
            )
        self._n_vec_steps += n_vec_steps

    def summarize(self) -> RolloutSummary:
        """Return what was collected since this was last asked."""
        tracker, returns, n_vec_steps = self.stepper.tracker, self._returns, self._n_vec_steps
        self._returns, self._n_vec_steps = [], 0
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
        """Return environments, running episodes and the explorer in plain containers."""
        return {
            "env": self.env.get_state(),
            "tracker": self.stepper.tracker.state_dict(),
            "n_vec_steps": self.stepper.n_vec_steps,
            "memory": self.stepper.state,
            "explorer": self.explorer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> np.ndarray:
        """Restore what `state_dict` returned.

        Returns:
            (n,) int64, which environments could not be restored. Their running episode is
            abandoned: it counts in no statistic, and a new one has begun.
        """
        observation, restored = self.env.set_state(state["env"])
        lost = np.flatnonzero(~restored)
        memory = None
        if self.policy.has_memory:
            memory = forget(state["memory"].to(self.stepper.device), ~restored)
        self.stepper.restore(observation, memory)
        self.stepper.n_vec_steps = state["n_vec_steps"]
        self.stepper.tracker.load_state_dict(state["tracker"])
        self.explorer.load_state_dict(state["explorer"])
        self.stepper.tracker.reset(lost)
        return lost
