"""One vector step with a policy, checked: what rollouts and evaluation share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from utils.errors import EnvironmentFailedError
from utils.policy_factory import ActorCritic, PolicyStep
from utils.rollouts.episode_stats import EpisodeTracker, FinishedEpisodes
from utils.spaces import ActionAdapter

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


class Stepper:
    """Steps a vector environment with a policy and keeps count of raw episodes.

    It owns the current observation. Numbers that are not finite stop the run here, with the
    environment, the step and the quantity named.
    """

    def __init__(self, env: VectorEnv, policy: ActorCritic, *, device: torch.device) -> None:
        """Bind an environment and a policy that lives on `device`."""
        self.env = env
        self.policy = policy
        self.device = device
        self.tracker = EpisodeTracker(env.num_envs)
        self.n_vec_steps = 0
        self._adapter = ActionAdapter(env.single_action_space)
        self._observation: ObservationArray | None = None

    @property
    def observation(self) -> Observation:
        """The current raw observation as tensors, (N, ...)."""
        assert self._observation is not None, "reset() comes before the first step"
        return to_tensors(self._observation, self.device)

    @property
    def has_started(self) -> bool:
        """Whether there is an observation to act on."""
        return self._observation is not None

    def reset(self, *, seed: int | None = None) -> None:
        """Begin a new episode everywhere; with a seed, environment i gets seed + i."""
        observation, _ = self.env.reset(seed=seed)
        self.tracker.reset()
        self.take(observation)

    def take(self, observation: ObservationArray) -> None:
        """Make `observation` the current one (after a reset or a restored state)."""
        self._check_finite("observation", observation)
        self._observation = observation

    def decide(
        self,
        observation: Observation,
        *,
        generator: torch.Generator | None,
        deterministic: bool = False,
    ) -> PolicyStep:
        """Let the policy choose for normalised observations (N, ...)."""
        return self.policy.act(observation, generator=generator, deterministic=deterministic)

    def step(self, action: Tensor, *, is_counted: np.ndarray | None = None) -> Outcome:
        """Step every environment.

        Args:
            action: (N, ...) as the policy drew them.
            is_counted: (N,) bool, whose finished episodes enter the statistics; all if None.
        """
        env_action = self._adapter.to_env(action.cpu().numpy())
        observation, reward, terminated, truncated, infos = self.env.step(env_action)
        self.n_vec_steps += 1
        self._check_finite("reward", reward)
        if "final_obs" in infos:
            # Only a truncated episode's end is valued; other rows may hold anything.
            self._check_finite("final observation", infos["final_obs"], rows=truncated)
        self.take(observation)
        over = infos.get("episode_over")
        if over is None:
            over = terminated | truncated
        raw_reward = infos.get("raw_reward", reward)
        finished = self.tracker.update(
            raw_reward, over, is_counted=is_counted, metrics=infos.get("episode_metrics")
        )
        return Outcome(reward, terminated, truncated, over, infos, finished)

    def _check_finite(
        self, quantity: str, values: ObservationArray, *, rows: np.ndarray | None = None
    ) -> None:
        if isinstance(values, dict):
            for key, part in values.items():
                self._check_finite(f"{quantity}['{key}']", part, rows=rows)
            return
        if values.dtype.kind != "f" or np.isfinite(values).all():
            return
        bad = ~np.isfinite(values.reshape(values.shape[0], -1)).all(axis=1)
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
    tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.to(device, non_blocking=True)
