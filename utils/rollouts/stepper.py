"""One vector step with a policy, checked: what rollouts and evaluation share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from utils.distributed.share import Share
from utils.errors import DivergedError, EnvironmentFailedError
from utils.policy_factory import ActorCritic, PolicyStep
from utils.rollouts.episode_stats import EpisodeTracker, FinishedEpisodes
from utils.spaces import ActionAdapter
from utils.uploads import upload
from utils.vector_envs.action_mask import ACTION_MASK, find_blocked

if TYPE_CHECKING:
    from utils.distributed.team import Team

ObservationArray = np.ndarray | dict[str, np.ndarray]
Observation = Tensor | dict[str, Tensor]


class Outcome(NamedTuple):
    """What one vector step led to; N environments."""

    reward: np.ndarray
    """(N,) float64, as the wrappers of the learner pay it."""
    terminated: np.ndarray
    """(N,) bool"""
    truncated: np.ndarray
    """(N,) bool"""
    over: np.ndarray
    """(N,) bool, the episode of the unwrapped environment ended; wrappers may end it earlier."""
    infos: dict[str, Any]
    finished: FinishedEpisodes | None
    """Counted episodes of the unwrapped environments that ended, with raw returns."""
    state: Tensor | None = None
    """(N, state_dim) of the policy's memory after this step, also where an episode ended with it;
    None without a memory."""


class Stepper:
    """Steps a vector environment with a policy and keeps count of raw episodes.

    It owns the current observation, the mask of the actions that it allows, and what the policy
    remembers of the running episodes. The policy's episodes are those of its wrapped environment:
    it remembers nothing over a step that was terminated or truncated. Numbers that are not finite,
    and an environment that allows no action, stop the run here, with the environment, the step and
    the quantity named.
    """

    def __init__(self, env: VectorEnv, policy: ActorCritic, *, device: torch.device) -> None:
        """Bind an environment and a policy that lives on `device`."""
        self.env = env
        self.policy = policy
        self.device = device
        self.tracker = EpisodeTracker(env.num_envs)
        self.n_vec_steps = 0
        self._adapter = ActionAdapter(env.single_action_space)
        self._plays_alone = hasattr(env, "send")
        self._sent: np.ndarray | None = None
        self._observation: ObservationArray | None = None
        self._mask: np.ndarray | None = None
        self.state: Tensor | None = None
        """(N, state_dim) of the policy's memory before the current observation, or None."""
        self._next_state: Tensor | None = None
        self.share: Share | None = None
        """Which of the run's environments these are; None: all of them."""
        self.finished: list[tuple[int, FinishedEpisodes]] | None = None
        """Vector step and episodes that ended with it, for whoever joins them; None: nobody."""

    @property
    def observation(self) -> Observation:
        """The current raw observation as tensors, (N, ...)."""
        assert self._observation is not None, "reset() comes before the first step"
        return to_tensors(self._observation, self.device)

    @property
    def mask(self) -> Tensor | None:
        """(N, n) bool, which actions the current state allows; None without action masks."""
        return None if self._mask is None else to_tensor(self._mask, self.device)

    @property
    def observation_array(self) -> ObservationArray:
        """The current raw observation as the environments gave it, (N, ...)."""
        assert self._observation is not None, "reset() comes before the first step"
        return self._observation

    @property
    def mask_array(self) -> np.ndarray | None:
        """(N, n) bool, which actions the current state allows; None without action masks."""
        return self._mask

    @property
    def has_started(self) -> bool:
        """Whether there is an observation to act on."""
        return self._observation is not None

    def reset(self, *, seed: int | None = None) -> None:
        """Begin a new episode everywhere; with a seed, environment i of the run gets seed + i."""
        if seed is not None and self.share is not None:
            seed = place_seed(self.env, seed, self.share)
        observation, infos = self.env.reset(seed=seed)
        self.tracker.reset()
        self.state = self.policy.initial_state(self.env.num_envs)
        self.take(observation, infos.get(ACTION_MASK))

    def restore(self, observation: ObservationArray, state: Tensor | None) -> None:
        """Go on from a restored state of the environments and of the policy's memory."""
        self.state = state
        self.take(observation, self.env.action_mask if self.policy.has_masks else None)

    def take(self, observation: ObservationArray, mask: np.ndarray | None = None) -> None:
        """Make `observation` the current one, and `mask` (N, n) bool what it allows."""
        self.check_finite("observation", observation)
        self._observation = observation
        if self.policy.has_masks:
            assert mask is not None, f"{self.env} gives no action masks"
            self._check_mask(mask)
            self._mask = mask

    def decide(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool = False,
    ) -> PolicyStep:
        """Let the policy choose for normalised observations (N, ...), and remember them."""
        own = {} if self.share is None else {"share": self.share}
        decision = self.policy.act(
            observation,
            generator=generator,
            deterministic=deterministic,
            mask=self.mask,
            state=self.state,
            **own,
        )
        self._next_state = decision.state
        return decision

    def remember(self, state: Tensor) -> None:
        """Take in what the policy remembers after the observation it has just chosen for."""
        self._next_state = state

    def step(self, action: Tensor, *, is_counted: np.ndarray | None = None) -> Outcome:
        """Step every environment.

        Args:
            action: (N, ...) as the policy drew them.
            is_counted: (N,) bool, whose finished episodes enter the statistics; all if None.
        """
        self.send(action)
        return self.receive(is_counted=is_counted)

    def send(self, action: Tensor | np.ndarray) -> None:
        """Begin a step; environments with threads of their own play while others are thought of.

        Args:
            action: (N, ...) as the policy drew them.

        Raises:
            DivergedError: An action is not finite; no environment has seen it.
        """
        chosen = action if isinstance(action, np.ndarray) else action.cpu().numpy()
        if chosen.dtype.kind == "f" and not _is_finite(chosen):
            self._blame_policy(chosen)
        self._sent = self._adapter.to_env(chosen)
        if self._plays_alone:
            self.env.send(self._sent)

    def receive(self, *, is_counted: np.ndarray | None = None) -> Outcome:
        """End the step that `send` began; see `step`."""
        answer = self.env.recv() if self._plays_alone else self.env.step(self._sent)
        observation, reward, terminated, truncated, infos = answer
        self.n_vec_steps += 1
        self.check_finite("reward", reward)
        has_ends = "final_obs" in infos
        if has_ends:
            # Only a truncated episode's end is valued; other rows may hold anything.
            self.check_finite("final observation", infos["final_obs"], rows=truncated)
        self.take(observation, infos.get(ACTION_MASK))
        over = infos.get("episode_over")
        if over is None:
            over = terminated | truncated if has_ends else terminated
        raw_reward = infos.get("raw_reward", reward)
        finished = self.tracker.update(
            raw_reward, over, is_counted=is_counted, metrics=infos.get("episode_metrics")
        )
        if finished is not None and self.finished is not None:
            self.finished.append((self.n_vec_steps, finished))
        state = self._next_state
        if state is not None:
            self.state = forget(state, terminated | truncated)
        return Outcome(reward, terminated, truncated, over, infos, finished, state)

    def _blame_policy(self, chosen: np.ndarray) -> NoReturn:
        is_finite = np.isfinite(chosen.reshape(len(chosen), -1)).all(axis=1)
        index = int(np.flatnonzero(~is_finite)[0])
        raise DivergedError(
            f"the policy chose {chosen[index]} for environment {index} of "
            f"{getattr(self.env, 'env_id', self.env)} at vector step {self.n_vec_steps + 1}: what "
            "it has learnt is no longer finite; earlier checkpoints are intact. Try a lower "
            "policy_lr or max_grad_norm"
        )

    def _check_mask(self, mask: np.ndarray) -> None:
        index = find_blocked(mask, self.env.single_action_space)
        if index is not None:
            raise EnvironmentFailedError(
                f"environment {index} of {getattr(self.env, 'env_id', self.env)} allows no action "
                f"at vector step {self.n_vec_steps}: its info['action_mask'] has no 1 among "
                f"{mask[index].astype(int).tolist()}; earlier checkpoints are intact"
            )

    def check_finite(
        self, quantity: str, values: ObservationArray, *, rows: np.ndarray | None = None
    ) -> None:
        """Stop the run if a number is not finite.

        Args:
            quantity: What the numbers are.
            values: (N, ...)
            rows: (N,) bool, which environments' numbers somebody reads; all if None.

        Raises:
            EnvironmentFailedError: It names the environment, the step and the quantity.
        """
        if isinstance(values, dict):
            for key, part in values.items():
                self.check_finite(f"{quantity}['{key}']", part, rows=rows)
            return
        if values.dtype.kind != "f":
            return
        if _is_finite(values):
            return
        bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
        if rows is not None:
            bad &= rows
            if not bad.any():
                return
        index = int(np.flatnonzero(bad)[0])
        raise EnvironmentFailedError(
            f"environment {index} of {getattr(self.env, 'env_id', self.env)} returned a {quantity} "
            f"that is not finite at vector step {self.n_vec_steps}: {values[index]}; "
            "earlier checkpoints are intact"
        )


def _is_finite(values: np.ndarray) -> bool:
    # For a few numbers faster than all().
    return np.count_nonzero(np.isfinite(values)) == values.size


def place_seed(env: VectorEnv, seed: int, share: Share) -> int:
    """Return the seed that gives a part of the environments the episodes that all would have.

    Args:
        env: The part; one that hashes seed and index is told where its part begins.
        seed: Of all environments.
        share: Which ones these are.
    """
    if hasattr(env, "first_index"):
        env.first_index = share.first
        return seed
    return seed + share.first


def rows_of_all(observation: Observation, team: Team | None) -> Observation:
    """Join the rows, (N, ...), of all processes; with one alone these are they."""
    if team is None:
        return observation
    if isinstance(observation, dict):
        return {key: team.gather_rows(part) for key, part in observation.items()}
    return team.gather_rows(observation)


def forget(state: Tensor, rows: np.ndarray) -> Tensor:
    """Return the state of a memory (N, state_dim), emptied where `rows` (N,) bool says so."""
    if not rows.any():
        return state
    return state.masked_fill(torch.from_numpy(rows).to(state.device).unsqueeze(-1), 0.0)


def to_tensors(observation: ObservationArray, device: torch.device) -> Observation:
    """Return arrays as tensors on `device`; on the CPU they share memory. Floats are float32."""
    if isinstance(observation, dict):
        return {key: to_tensor(part, device) for key, part in observation.items()}
    return to_tensor(observation, device)


def to_tensor(array: np.ndarray, device: torch.device) -> Tensor:
    """Return one array as a tensor on `device`.

    No float64 ever leaves for a device: some have no such type.
    """
    assert array.dtype != np.float64, "vector environments give float32 observations"
    return torch.from_numpy(array) if device.type == "cpu" else upload(array, device)
