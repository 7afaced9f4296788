"""Whole episodes, one after another, as tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from utils.spaces import torch_dtype

Observation = Tensor | dict[str, Tensor]


class Episode(NamedTuple):
    """One episode of T steps, as an environment gave and took it."""

    observation: Any
    """(T + 1, ...) arrays, a dict of them for a Dict; the last one is what the last step led to."""
    action: np.ndarray
    """(T, ...) in the units of the environment."""
    reward: np.ndarray
    """(T,) raw."""
    terminated: bool
    """Whether the decision process ended with it."""
    seed: int | None = None
    """The seed that it was reset with, where that is known."""


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """N steps of E episodes, on the CPU; what the last step of an episode led to is left out."""

    observation: Observation
    """(N, ...) as the environment shows it."""
    action: Tensor
    """(N, ...): choices count from 0, numbers are float32 in the units of the environment."""
    start: Tensor
    """(E + 1,) int64, where each episode begins; the last one is N."""
    returns: Tensor
    """(E,) float64, undiscounted sums of raw rewards."""

    def __len__(self) -> int:
        return int(self.start[-1])

    @property
    def n_episodes(self) -> int:
        """Number of episodes E."""
        return len(self.start) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(part.nbytes for part in (*self._leaves(), self.action))

    def _leaves(self) -> list[Tensor]:
        if isinstance(self.observation, dict):
            return [self.observation[key] for key in sorted(self.observation)]
        return [self.observation]

    def rows(self, index: Tensor) -> Observation:
        """Pick the observations of some steps; `index` is int64 of any shape."""
        if isinstance(self.observation, dict):
            return {key: part[index] for key, part in self.observation.items()}
        return self.observation[index]

    def fingerprint(self) -> str:
        """Return a digest of all that is learnt from: a resumed run must find the same."""
        digest = hashlib.blake2b(digest_size=16)
        for part in (self.start, self.action, *self._leaves()):
            digest.update(str(tuple(part.shape)).encode())
            digest.update(part.contiguous().numpy().tobytes())
        return digest.hexdigest()


def join_episodes(
    episodes: Iterable[Episode], observation_space: gym.Space, action_space: gym.Space
) -> Demonstrations:
    """Lay episodes out one after another.

    Args:
        episodes: At least one; those without a step are left out.
        observation_space: Single observation space.
        action_space: Single action space.
    """
    observations, actions, lengths, returns = [], [], [], []
    for episode in episodes:
        length = len(episode.action)
        if length:
            observations.append(_first_rows(episode.observation, length))
            actions.append(_count_from_zero(np.asarray(episode.action), action_space))
            lengths.append(length)
            returns.append(float(np.sum(episode.reward, dtype=np.float64)))
    assert lengths, "no episode has a step"
    start = torch.zeros(len(lengths) + 1, dtype=torch.int64)
    start[1:] = torch.tensor(lengths).cumsum(0)
    return Demonstrations(
        _join(observations, observation_space),
        torch.from_numpy(np.concatenate(actions)),
        start,
        torch.tensor(returns, dtype=torch.float64),
    )


def _first_rows(observation: Any, length: int) -> Any:
    if isinstance(observation, dict):
        return {key: _first_rows(part, length) for key, part in observation.items()}
    return np.asarray(observation)[:length]


def _count_from_zero(action: np.ndarray, space: gym.Space) -> np.ndarray:
    """Return actions as policies have them: whole numbers from 0, or float32."""
    match space:
        case gym.spaces.Discrete() | gym.spaces.MultiDiscrete():
            return action.astype(np.int64) - np.asarray(space.start, np.int64)
        case gym.spaces.MultiBinary():
            return action.astype(np.int64)
    return action.astype(np.float32)


def _join(observations: list[Any], space: gym.Space) -> Observation:
    if isinstance(space, gym.spaces.Dict):
        return {
            key: _join([part[key] for part in observations], space[key])  # type: ignore[misc]
            for key in sorted(space.spaces)
        }
    return torch.from_numpy(np.concatenate(observations)).to(torch_dtype(space))
