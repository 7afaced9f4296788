"""Raw observations of a rollout with what each step led to, for bonuses of what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from utils.rollouts.stepper import Observation, ObservationArray, to_tensors
from utils.spaces import torch_dtype


class TransitionRecord:
    """T + 1 raw observations of N environments, and the final ones of episodes that ended.

    The rollout buffer holds what the policy saw, normalised, and no final observation of an episode
    that terminated; a bonus for the state that an action led to needs both.
    """

    def __init__(self, *, n_steps: int, n_envs: int, observation_space: gym.Space) -> None:
        """Allocate the arrays, once.

        Args:
            n_steps: Most steps that a rollout can have (T).
            n_envs: Number of environments (N).
            observation_space: Single observation space; Dict spaces are flat.
        """
        self.n_steps = 0
        lead = (n_steps + 1, n_envs)
        if isinstance(observation_space, gym.spaces.Dict):
            self._rows: Observation = {
                key: _allocate(lead, observation_space[key])
                for key in sorted(observation_space.spaces)
            }
        else:
            self._rows = _allocate(lead, observation_space)
        self._finals: list[tuple[int, np.ndarray, ObservationArray]] = []

    def begin(self, n_steps: int) -> None:
        """Start a rollout of `n_steps` rows."""
        self.n_steps = n_steps
        self._finals.clear()

    def write_observation(self, t: int, observation: Observation) -> None:
        """Copy raw observations (N, ...) into row t; row `n_steps` is where the rollout ended."""
        if isinstance(observation, dict):
            assert isinstance(self._rows, dict), type(self._rows)
            for key, rows in self._rows.items():
                rows[t].copy_(observation[key])
        else:
            assert isinstance(self._rows, Tensor), type(self._rows)
            self._rows[t].copy_(observation)

    def write_finals(self, t: int, done: np.ndarray, final_observation: ObservationArray) -> None:
        """Copy the final observations of the episodes that step t ended.

        Args:
            t: Step.
            done: (N,) bool, terminated or truncated.
            final_observation: (N, ...), valid where `done`.
        """
        rows = np.flatnonzero(done)
        self._finals.append((t, rows, _pick(final_observation, rows)))

    def observation(self) -> Observation:
        """Return what the environments were in before each step, (T, N, ...), a view."""
        return _map(self._rows, lambda rows: rows[: self.n_steps])

    def last_observation(self) -> Observation:
        """Return what the environments are in after the rollout, (N, ...), a view."""
        return _map(self._rows, lambda rows: rows[self.n_steps])

    def finals(self) -> Iterator[tuple[int, Tensor, Observation]]:
        """Yield step, environments (n,) and final observations (n, ...) of ended episodes."""
        for t, rows, finals in self._finals:
            yield t, torch.from_numpy(rows), to_tensors(finals, torch.device("cpu"))

    def next_observation(self) -> Observation:
        """Return what each step led to, (T, N, ...): final observations where episodes ended."""
        following = _map(self._rows, lambda rows: rows[1 : self.n_steps + 1].clone())
        for t, index, final in self.finals():
            if isinstance(following, dict):
                assert isinstance(final, dict), type(final)
                for key, part in following.items():
                    part[t, index] = final[key].to(part.dtype)
            else:
                assert isinstance(final, Tensor), type(final)
                following[t, index] = final.to(following.dtype)
        return following


def _allocate(lead: tuple[int, int], space: gym.Space) -> Tensor:
    return torch.zeros((*lead, *space.shape), dtype=torch_dtype(space))


def _pick(observation: ObservationArray, rows: np.ndarray) -> ObservationArray:
    if isinstance(observation, dict):
        return {key: part[rows] for key, part in observation.items()}
    return observation[rows]


def _map(observation: Observation, change: Callable[[Tensor], Tensor]) -> Observation:
    if isinstance(observation, dict):
        return {key: change(part) for key, part in observation.items()}
    return change(observation)
