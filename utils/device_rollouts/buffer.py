"""Storage of one rollout on a device."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from utils.rollouts import Minibatch


class DeviceRolloutBuffer:
    """T steps of N environments, `(T, N, ...)`, allocated once and written in place.

    The fields mean what those of `RolloutBuffer` mean; beside them are the raw final observations
    and what each step knew of its episode. Samples are ordered by time, then by environment, so
    that the flat view costs nothing.
    """

    def __init__(
        self,
        *,
        n_steps: int,
        n_envs: int,
        observation_shape: tuple[int, ...],
        action_shape: tuple[int, ...],
        action_dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        """Allocate the tensors.

        Args:
            n_steps: Steps of a rollout (T).
            n_envs: Number of environments (N).
            observation_shape: Of one observation; float32.
            action_shape: Of one action as the policy draws it.
            action_dtype: Of an action.
            device: Where everything lives.
        """
        self.n_steps, self.n_envs = n_steps, n_envs
        lead = (n_steps, n_envs)
        self.observation = torch.zeros((*lead, *observation_shape), device=device)
        self.final_observation = torch.zeros_like(self.observation)
        self.action = torch.zeros((*lead, *action_shape), dtype=action_dtype, device=device)
        self.logprob = torch.zeros(lead, device=device)
        self.value = torch.zeros(lead, device=device)
        self.next_value = torch.zeros(lead, device=device)
        self.reward = torch.zeros(lead, device=device)
        self.terminated = torch.zeros(lead, dtype=torch.bool, device=device)
        self.truncated = torch.zeros(lead, dtype=torch.bool, device=device)
        self.episode_return = torch.zeros(lead, device=device)
        self.episode_length = torch.zeros(lead, dtype=torch.int32, device=device)

    @property
    def done(self) -> Tensor:
        """(T, N) bool, terminated or truncated."""
        return self.terminated | self.truncated

    @property
    def n_samples(self) -> int:
        """Number of samples, T * N."""
        return self.n_steps * self.n_envs

    def samples(self, *, advantage: Tensor, returns: Tensor) -> Minibatch:
        """Return all samples, (T * N, ...), views of the rollout and of its (T, N) targets."""
        assert advantage.shape == returns.shape == self.reward.shape, advantage.shape
        fields = (self.observation, self.action, self.logprob, self.value, advantage, returns)
        return Minibatch(*(field.flatten(0, 1) for field in fields))


def pick_minibatches(samples: Minibatch, index_table: Tensor) -> Iterator[Minibatch]:
    """Yield one minibatch for each row of a table.

    Args:
        samples: (n, ...)
        index_table: (n_minibatches, B) int64 in [0, n).
    """
    n_samples = len(samples.returns)
    for index in index_table.unbind(0):
        if len(index) == n_samples:  # a minibatch of everything: the order changes no mean
            yield samples
        else:
            yield samples.pick(index)
