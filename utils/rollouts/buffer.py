"""Storage of one rollout, time-major, written in place."""

from __future__ import annotations

from typing import NamedTuple

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from utils.distributions import Bernoulli, Categorical, DiagonalNormal, MultiCategorical
from utils.distributions.protocol import ActionDistribution
from utils.rollouts.reshape import flatten_env_major
from utils.spaces import torch_dtype

Observation = Tensor | dict[str, Tensor]
ObservationArray = np.ndarray | dict[str, np.ndarray]


class Minibatch(NamedTuple):
    """B transitions picked by index; what the losses of on-policy agents read."""

    observation: Observation
    """(B, ...) as the policy saw it (normalised)."""
    action: Tensor
    """(B, ...) as the policy drew it."""
    old_logprob: Tensor
    """(B,) log-probability under the policy that collected."""
    old_value: Tensor
    """(B,) V under the critic that collected."""
    advantage: Tensor
    """(B,)"""
    returns: Tensor
    """(B,)"""


class RolloutBuffer:
    """T steps of N environments, `(T, N, ...)`, allocated once and written row by row.

    Tensors live in ordinary memory and share it with NumPy views, so a step is written without a
    temporary. `observation[t]` is what the policy saw before `action[t]`.
    """

    def __init__(
        self,
        *,
        n_steps: int,
        n_envs: int,
        observation_space: gym.Space,
        distribution: ActionDistribution,
    ) -> None:
        """Allocate the arrays.

        Args:
            n_steps: Most steps that a rollout can have (T).
            n_envs: Number of environments (N).
            observation_space: Single observation space; Dict spaces are flat.
            distribution: Says the shape and dtype of stored actions.
        """
        self.capacity, self.n_envs = n_steps, n_envs
        self.n_steps = n_steps
        lead = (n_steps, n_envs)
        if isinstance(observation_space, gym.spaces.Dict):
            self.observation: Observation = {
                key: _allocate(lead, observation_space[key])
                for key in sorted(observation_space.spaces)
            }
        else:
            self.observation = _allocate(lead, observation_space)
        shape, dtype = _action_layout(distribution)
        self.action = torch.zeros((*lead, *shape), dtype=dtype)
        self.logprob = torch.zeros(lead)
        self.value = torch.zeros(lead)
        self.next_value = torch.zeros(lead)
        self.reward = torch.zeros(lead)
        self.terminated = torch.zeros(lead, dtype=torch.bool)
        self.truncated = torch.zeros(lead, dtype=torch.bool)
        self.is_valid = torch.ones(lead, dtype=torch.bool)
        # Rows are written through NumPy: an indexed write of a tensor costs several times as much.
        self._observation_view = (
            {key: part.numpy() for key, part in self.observation.items()}
            if isinstance(self.observation, dict)
            else self.observation.numpy()
        )
        self._action_view = self.action.numpy()
        self._logprob_view = self.logprob.numpy()
        self._value_view = self.value.numpy()
        self._reward_view = self.reward.numpy()
        self._terminated_view = self.terminated.numpy()
        self._truncated_view = self.truncated.numpy()
        self._flat: Minibatch | None = None

    @property
    def done(self) -> Tensor:
        """(T, N) bool, terminated or truncated."""
        return self.terminated | self.truncated

    def observation_at(self, t: int) -> Observation:
        """Return row t, (N, ...), a view."""
        if isinstance(self.observation, dict):
            return {key: part[t] for key, part in self.observation.items()}
        return self.observation[t]

    def write_observation(self, t: int, observation: Observation) -> None:
        """Copy what the policy is about to see into row t."""
        if isinstance(observation, dict):
            for key, view in self._observation_view.items():
                view[t] = observation[key].numpy(force=True)
        else:
            self._observation_view[t] = observation.numpy(force=True)

    def write_decision(self, t: int, action: Tensor, logprob: Tensor, value: Tensor) -> None:
        """Copy the policy's choice into row t."""
        self._action_view[t] = action.numpy(force=True)
        self._logprob_view[t] = logprob.numpy(force=True)
        self._value_view[t] = value.numpy(force=True)

    def write_outcome(
        self, t: int, reward: np.ndarray, terminated: np.ndarray, truncated: np.ndarray
    ) -> None:
        """Copy the environments' answer into row t; `reward` is what the learner is paid."""
        self._reward_view[t] = reward
        self._terminated_view[t] = terminated
        self._truncated_view[t] = truncated

    def begin(self, n_steps: int) -> None:
        """Start a rollout of `n_steps` <= capacity rows; everything in it is valid until said."""
        assert 0 < n_steps <= self.capacity, (n_steps, self.capacity)
        self.n_steps = n_steps
        self.is_valid.fill_(True)
        self._flat = None

    def shorten(self, n_steps: int) -> None:
        """Keep the first `n_steps` rows of the rollout that was just written."""
        assert 0 < n_steps <= self.n_steps, (n_steps, self.n_steps)
        self.n_steps = n_steps

    def rows(self, field: Tensor) -> Tensor:
        """Return the rows of `field` that this rollout wrote, (n_steps, N, ...)."""
        return field[: self.n_steps]

    def finish(self, *, advantage: Tensor, returns: Tensor, device: torch.device) -> None:
        """Take in advantages and returns, (n_steps, N), and lay out the samples for minibatches.

        Samples are ordered environment by environment, each in time, invalid ones left out.
        """
        assert advantage.shape == returns.shape == (self.n_steps, self.n_envs), advantage.shape
        is_valid = flatten_env_major(self.rows(self.is_valid))
        keep = None if bool(is_valid.all()) else is_valid.nonzero().squeeze(-1)

        def flat(field: Tensor) -> Tensor:
            samples = flatten_env_major(field)
            samples = samples if keep is None else samples.index_select(0, keep)
            return samples.to(device, non_blocking=True)

        observation: Observation = (
            {key: flat(self.rows(part)) for key, part in self.observation.items()}
            if isinstance(self.observation, dict)
            else flat(self.rows(self.observation))
        )
        self._flat = Minibatch(
            observation=observation,
            action=flat(self.rows(self.action)),
            old_logprob=flat(self.rows(self.logprob)),
            old_value=flat(self.rows(self.value)),
            advantage=flat(advantage),
            returns=flat(returns),
        )

    @property
    def samples(self) -> Minibatch:
        """All valid samples of the finished rollout, (n_samples, ...)."""
        assert self._flat is not None, "finish() comes before samples"
        return self._flat

    @property
    def n_samples(self) -> int:
        """Number of valid samples of the finished rollout."""
        return self.samples.returns.shape[0]

    def gather(self, index: Tensor) -> Minibatch:
        """Pick samples by index.

        Args:
            index: (B,) int64 in [0, n_samples), on the device of the samples.
        """
        samples = self.samples
        observation = samples.observation
        picked: Observation = (
            {key: part.index_select(0, index) for key, part in observation.items()}
            if isinstance(observation, dict)
            else observation.index_select(0, index)
        )
        return Minibatch(picked, *(field.index_select(0, index) for field in samples[1:]))


def _allocate(lead: tuple[int, int], space: gym.Space) -> Tensor:
    return torch.zeros((*lead, *space.shape), dtype=torch_dtype(space))


def _action_layout(distribution: ActionDistribution) -> tuple[tuple[int, ...], torch.dtype]:
    match distribution:
        case Categorical():
            return (), torch.int64
        case MultiCategorical(sizes):
            return (len(sizes),), torch.int64
        case Bernoulli(n):
            return (n,), torch.int64
        case DiagonalNormal(shape):
            return shape, torch.float32
    raise AssertionError(distribution)
