"""Random episodes of vector environments, and a replay of lists that is too slow to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch


class VectorStep(NamedTuple):
    """What one step of N environments takes and gives."""

    action: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    next_observation: Any
    final_observation: Any


class RandomEpisodes:
    """N environments whose numbers never repeat; SAME_STEP autoreset, arrays changed in place.

    Observations are stacks of `frame_stack` frames of `channels` rows, or dicts of a picture that
    is stacked and a number that is not.
    """

    def __init__(
        self,
        n_envs: int,
        *,
        seed: int,
        frame_stack: int = 1,
        channels: int = 2,
        as_dict: bool = False,
        mean_length: float = 4.0,
    ) -> None:
        self.n_envs, self.frame_stack, self.as_dict = n_envs, frame_stack, as_dict
        self._channels, self._p_end = channels, 1 / mean_length
        self._rng = np.random.default_rng(seed)
        self._count = 0
        shape = (channels * frame_stack, 1, 1) if as_dict else (channels * frame_stack,)
        kind = np.uint8 if as_dict else np.float32
        box = gym.spaces.Box(0, 255 if as_dict else np.inf, shape, kind)
        self.observation_space: gym.Space = (
            gym.spaces.Dict({"picture": box, "number": gym.spaces.Discrete(10**9)})
            if as_dict
            else box
        )
        self.action_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self._stack = np.zeros((n_envs, *shape), kind)
        self._number = np.zeros(n_envs, np.int64)

    def _frame(self) -> np.ndarray:
        self._count += 1
        shape = (self._channels, *self._stack.shape[2:])
        if self.as_dict:
            return self._rng.integers(0, 256, shape).astype(np.uint8)
        return np.full(shape, self._count, np.float32) + np.arange(self._channels) / 4

    def _show(self) -> Any:
        return {"picture": self._stack, "number": self._number} if self.as_dict else self._stack

    def begin(self, environments: Any) -> Any:
        """Begin episodes: the first frame fills the stack."""
        for i in environments:
            self._stack[i] = np.concatenate([self._frame()] * self.frame_stack)
            self._number[i] = self._count
        return self._show()

    def steps(self, n: int) -> Iterator[VectorStep]:
        """Yield steps of random episodes."""
        for _ in range(n):
            end = self._rng.random(self.n_envs)
            terminated = end < self._p_end / 2
            truncated = (end >= self._p_end / 2) & (end < self._p_end)
            for i in range(self.n_envs):
                self._stack[i] = np.concatenate([self._stack[i][self._channels :], self._frame()])
                self._number[i] = self._count
            final = copy_observation(self._show())
            ended = np.flatnonzero(terminated | truncated)
            observation = self.begin(ended)
            yield VectorStep(
                self._rng.normal(size=(self.n_envs, 3)).astype(np.float32),
                self._rng.normal(size=self.n_envs),
                terminated,
                truncated,
                observation,
                final if len(ended) else None,
            )


class SlowTransition(NamedTuple):
    """One step of one environment."""

    observation: Any
    action: np.ndarray
    reward: float
    terminated: bool
    truncated: bool
    next_observation: Any


class SlowReplay:
    """All steps of each environment, in lists."""

    def __init__(self, n_envs: int) -> None:
        self.steps: list[list[SlowTransition]] = [[] for _ in range(n_envs)]
        self._observation: Any = None

    def begin(self, observation: Any) -> None:
        """Take in the first observation."""
        self._observation = copy_observation(observation)

    def add(self, step: VectorStep) -> None:
        """Take in one vector step."""
        for i, transitions in enumerate(self.steps):
            is_over = step.terminated[i] or step.truncated[i]
            transitions.append(
                SlowTransition(
                    row_of(self._observation, i),
                    step.action[i].copy(),
                    float(np.float32(step.reward[i])),
                    bool(step.terminated[i]),
                    bool(step.truncated[i]),
                    row_of(step.final_observation if is_over else step.next_observation, i),
                )
            )
        self._observation = copy_observation(step.next_observation)

    def cut(self, observation: Any, environments: Any) -> None:
        """Truncate the running episodes of some environments."""
        for i in environments:
            if self.steps[i] and not (self.steps[i][-1].terminated or self.steps[i][-1].truncated):
                self.steps[i][-1] = self.steps[i][-1]._replace(truncated=True)
        self._observation = copy_observation(observation)

    def n_step(self, step: int, i: int, *, n: int, gamma: float) -> tuple[SlowTransition, float]:
        """Return a transition of up to n steps, and the discount of what it led to."""
        first = self.steps[i][step]
        reward, factor = 0.0, 1.0
        for one in self.steps[i][step : step + n]:
            reward += factor * one.reward
            factor *= gamma
            if one.terminated or one.truncated:
                break
        return (
            one._replace(observation=first.observation, action=first.action, reward=reward),
            0.0 if one.terminated else factor,
        )


def row_of(observation: Any, i: int) -> Any:
    """Return a copy of one environment's observation."""
    if isinstance(observation, dict):
        return {key: part[i].copy() for key, part in observation.items()}
    return observation[i].copy()


def copy_observation(observation: Any) -> Any:
    """Return a copy of a batch of observations."""
    if isinstance(observation, dict):
        return {key: part.copy() for key, part in observation.items()}
    return observation.copy()


def assert_same_observation(found: Any, expected: Any) -> None:
    """Compare tensors with arrays, bit for bit."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, part in expected.items():
            assert torch.equal(found[key], torch.as_tensor(part)), key
    else:
        assert torch.equal(found, torch.as_tensor(expected)), (found, expected)


class SlowRow(NamedTuple):
    """One observation of one environment, what led to it, and what was done there."""

    observation: Any
    action: np.ndarray
    reward: float
    is_first: bool
    terminated: bool
    truncated: bool
    state: np.ndarray
    """(state_width,)"""


class SlowRows:
    """All rows of each environment, in lists; the last is not complete."""

    def __init__(self, n_envs: int, *, action_width: int = 3, state_width: int = 2) -> None:
        self.rows: list[list[SlowRow]] = [[] for _ in range(n_envs)]
        self._no_action = np.zeros(action_width, np.float32)
        self._no_state = np.zeros(state_width, np.float32)

    def begin(self, observation: Any) -> None:
        """Take in the first observation."""
        for i in range(len(self.rows)):
            self._append(i, observation, is_first=True)

    def _append(
        self,
        i: int,
        observation: Any,
        reward: float = 0.0,
        *,
        is_first: bool = False,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        nothing = (self._no_action, reward, is_first, terminated, truncated, self._no_state)
        self.rows[i].append(SlowRow(row_of(observation, i), *nothing))

    def add(self, step: VectorStep, state: np.ndarray) -> None:
        """Take in one vector step."""
        for i, rows in enumerate(self.rows):
            rows[-1] = rows[-1]._replace(action=step.action[i].copy(), state=state[i].copy())
            reward = float(np.float32(step.reward[i]))
            if step.terminated[i] or step.truncated[i]:
                ends = {"terminated": step.terminated[i], "truncated": step.truncated[i]}
                self._append(i, step.final_observation, reward, **ends)
                self._append(i, step.next_observation, is_first=True)
            else:
                self._append(i, step.next_observation, reward)

    def cut(self, observation: Any, environments: Any) -> None:
        """Truncate the running episodes of some environments."""
        for i in environments:
            if self.rows[i][-1].is_first:
                self.rows[i].pop()
            else:
                self.rows[i][-1] = self.rows[i][-1]._replace(truncated=True)
            self._append(i, observation, is_first=True)

    def starts(self, length: int, *, n_kept: int, crosses: bool) -> list[tuple[int, int]]:
        """Return (row, environment) of all rows at which a sequence can begin, sorted."""
        return sorted(
            (row, i)
            for i, rows in enumerate(self.rows)
            for row in range(max(len(rows) - 1 - n_kept, 0), len(rows) - length)
            if crosses or not any(one.is_first for one in rows[row + 1 : row + length])
        )
