"""Storage of one rollout, time-major, written in place."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from utils.distributions import Bernoulli, Categorical, DiagonalNormal, MultiCategorical
from utils.distributions.protocol import ActionDistribution
from utils.policies import Sequences
from utils.rollouts.reshape import flatten_env_major
from utils.rollouts.sequence_table import SequenceTable, cut_by_episodes, cut_evenly
from utils.spaces import torch_dtype

Observation = Tensor | dict[str, Tensor]
ObservationArray = np.ndarray | dict[str, np.ndarray]


_PER_ENVIRONMENT = (
    "observation",
    "action",
    "logprob",
    "value",
    "next_value",
    "reward",
    "terminated",
    "truncated",
    "is_valid",
)
"""The arrays of a buffer, (T, N, ...)."""


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
    mask: Tensor | None = None
    """(B, n) bool, which actions the environment allowed; None without action masks."""
    sequences: Sequences | None = None
    """Where the transitions lie in time, for a policy with a memory; None without one."""
    whole_advantage: Tensor | None = None
    """(W,) advantages of the whole minibatch where these B are a process's part of it; None: they
    are all."""

    def pick(self, index: Tensor) -> Minibatch:
        """Return the rows `index` (b,) int64, without their place in time."""
        observation = self.observation
        picked: Observation = (
            {key: part.index_select(0, index) for key, part in observation.items()}
            if isinstance(observation, dict)
            else observation.index_select(0, index)
        )
        fields = (self.action, self.old_logprob, self.old_value, self.advantage, self.returns)
        return Minibatch(
            picked,
            *(field.index_select(0, index) for field in fields),
            mask=None if self.mask is None else self.mask.index_select(0, index),
        )


class RolloutBuffer:
    """T steps of N environments, `(T, N, ...)`, allocated once and written row by row.

    For a policy with a memory the rollout is cut into sequences: stretches of `sequence_length`
    rows of one environment, of which minibatches are made, or, where it is None, whole episodes.
    The memory's state is kept as it was before each sequence's first row.

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
        state_dim: int = 0,
        sequence_length: int | None = None,
        mask_width: int = 0,
        observation_device: torch.device | None = None,
    ) -> None:
        """Allocate the arrays.

        Args:
            n_steps: Most steps that a rollout can have (T).
            n_envs: Number of environments (N).
            observation_space: Single observation space; Dict spaces are flat.
            distribution: Says the shape and dtype of stored actions.
            state_dim: Width of the state of the policy's memory; 0 without one.
            sequence_length: Rows of a sequence, a divisor of the rows of a rollout; None for
                episodes, which all begin in the rollout.
            mask_width: Width of the action masks; 0 without them.
            observation_device: Where observations are kept: beside a policy on a GPU, pictures
                need to go there once only. None for ordinary memory.
        """
        self.capacity, self.n_envs = n_steps, n_envs
        self.n_steps = n_steps
        lead = (n_steps, n_envs)
        if isinstance(observation_space, gym.spaces.Dict):
            self.observation: Observation = {
                key: _allocate(lead, observation_space[key], observation_device)
                for key in sorted(observation_space.spaces)
            }
        else:
            self.observation = _allocate(lead, observation_space, observation_device)
        shape, dtype = _action_layout(distribution)
        self.action = torch.zeros((*lead, *shape), dtype=dtype)
        self.logprob = torch.zeros(lead)
        self.value = torch.zeros(lead)
        self.next_value = torch.zeros(lead)
        self.reward = torch.zeros(lead)
        self.terminated = torch.zeros(lead, dtype=torch.bool)
        self.truncated = torch.zeros(lead, dtype=torch.bool)
        self.is_valid = torch.ones(lead, dtype=torch.bool)
        self.sequence_length = sequence_length
        n_states = 1 if sequence_length is None else -(-n_steps // sequence_length)
        self._state = torch.zeros((n_states, n_envs, state_dim)) if state_dim else None
        self.mask = torch.ones((*lead, mask_width), dtype=torch.bool) if mask_width else None
        self._make_views()
        self._flat: Minibatch | None = None
        self._sequences: SequenceTable | None = None

    def _make_views(self) -> None:
        # Rows are written through NumPy: an indexed write of a tensor costs several times as much.
        self._observation_view = (
            {key: _view(part) for key, part in self.observation.items()}
            if isinstance(self.observation, dict)
            else _view(self.observation)
        )
        self._action_view = self.action.numpy()
        self._logprob_view = self.logprob.numpy()
        self._value_view = self.value.numpy()
        self._reward_view = self.reward.numpy()
        self._terminated_view = self.terminated.numpy()
        self._truncated_view = self.truncated.numpy()

    def columns(self, start: int, stop: int) -> RolloutBuffer:
        """Return environments `start` to `stop` - 1 as a buffer that shares this one's memory."""
        part = copy.copy(self)
        part.n_envs = stop - start
        for name in _PER_ENVIRONMENT:
            setattr(part, name, _columns(getattr(self, name), start, stop))
        part._make_views()
        return part

    @property
    def done(self) -> Tensor:
        """(T, N) bool, terminated or truncated."""
        return self.terminated | self.truncated

    def observation_at(self, t: int) -> Observation:
        """Return row t, (N, ...), a view."""
        if isinstance(self.observation, dict):
            return {key: part[t] for key, part in self.observation.items()}
        return self.observation[t]

    def write_observation(self, t: int, observation: Observation | ObservationArray) -> None:
        """Copy what the policy is about to see into row t; an array only into one of the host."""
        if isinstance(observation, dict):
            for key, view in self._observation_view.items():
                _write_row(view, t, observation[key])
        else:
            _write_row(self._observation_view, t, observation)

    def write_state(self, t: int, state: Tensor) -> None:
        """Keep the memory's state before row t, (N, state_dim), if a sequence begins there."""
        if self.sequence_length is not None and t % self.sequence_length == 0:
            self._state[t // self.sequence_length] = state

    def write_mask(self, t: int, mask: Tensor) -> None:
        """Copy which actions row t allows, (N, n)."""
        self.mask[t] = mask

    def write_decision(self, t: int, action: np.ndarray, logprob: Tensor, value: Tensor) -> None:
        """Copy the policy's choice into row t."""
        self._action_view[t] = action
        self._logprob_view[t] = logprob.numpy(force=True)
        self._value_view[t] = value.numpy(force=True)

    def write_reward(self, t: int, reward: np.ndarray) -> None:
        """Copy what the learner is paid into row t."""
        self._reward_view[t] = reward

    def write_ends(self, t: int, terminated: np.ndarray, truncated: np.ndarray) -> None:
        """Copy whose episodes ended into row t; nobody's did in a row that is not written."""
        self._terminated_view[t] = terminated
        self._truncated_view[t] = truncated

    def begin(self, n_steps: int) -> None:
        """Start a rollout of `n_steps` <= capacity rows: all valid, without an end, until said."""
        assert 0 < n_steps <= self.capacity, (n_steps, self.capacity)
        self.n_steps = n_steps
        self.is_valid.fill_(True)
        self.terminated.fill_(False)
        self.truncated.fill_(False)
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
        keep = None if bool(is_valid.all()) else is_valid.nonzero().squeeze(-1).to(device)

        def flat(field: Tensor) -> Tensor:
            # Observations may lie on the device already: a choice is made there, for all alike.
            samples = flatten_env_major(field).to(device, non_blocking=True)
            return samples if keep is None else samples.index_select(0, keep)

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
            mask=None if self.mask is None else flat(self.rows(self.mask)),
        )
        if self._state is not None:
            self._sequences = self._cut(device)
            self._flat = self._flat._replace(sequences=self._sequences.everything())

    def _cut(self, device: torch.device) -> SequenceTable:
        assert self._state is not None
        done, length = self.rows(self.done), self.sequence_length
        if length is not None:
            state = self._state[: self.n_steps // length]
            return cut_evenly(state=state, done=done, length=length, device=device)
        is_valid, state_dim = self.rows(self.is_valid), self._state.shape[-1]
        return cut_by_episodes(state_dim=state_dim, done=done, is_valid=is_valid, device=device)

    @property
    def samples(self) -> Minibatch:
        """All valid samples of the finished rollout, (n_samples, ...)."""
        assert self._flat is not None, "finish() comes before samples"
        return self._flat

    @property
    def n_samples(self) -> int:
        """Number of valid samples of the finished rollout."""
        return self.samples.returns.shape[0]

    @property
    def n_units(self) -> int:
        """Number of what minibatches are made of: samples, or sequences for a memory."""
        return self.n_samples if self._sequences is None else len(self._sequences)

    def gather(self, index: Tensor) -> Minibatch:
        """Pick samples, or whole sequences for a memory, by index.

        Args:
            index: (B,) int64 in [0, n_units), on the device of the samples.
        """
        if self._sequences is None:
            return self.samples.pick(index)
        index, sequences = self._sequences.pick(index)
        return self.samples.pick(index)._replace(sequences=sequences)


def _allocate(lead: tuple[int, int], space: gym.Space, device: torch.device | None) -> Tensor:
    return torch.zeros((*lead, *space.shape), dtype=torch_dtype(space), device=device)


def _view(field: Tensor) -> np.ndarray | Tensor:
    return field.numpy() if field.device.type == "cpu" else field


def _write_row(view: np.ndarray | Tensor, t: int, row: Tensor | np.ndarray) -> None:
    if isinstance(view, Tensor):
        assert isinstance(row, Tensor), type(row)
        view[t].copy_(row)
    else:
        view[t] = row if isinstance(row, np.ndarray) else row.numpy(force=True)


def _columns(field: Any, start: int, stop: int) -> Any:
    if isinstance(field, dict):
        return {key: part[:, start:stop] for key, part in field.items()}
    return None if field is None else field[:, start:stop]


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
