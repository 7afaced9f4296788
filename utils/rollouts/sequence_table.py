"""Which samples of a finished rollout form which sequence of a policy with a memory."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.policies import Sequences, sequences_of
from utils.rollouts.reshape import flatten_env_major


class SequenceTable:
    """The sequences of a rollout; each is a block of samples that follow one another in time."""

    def __init__(self, lengths: Tensor, *, state: Tensor, is_start: Tensor) -> None:
        """Remember where the sequences lie among the samples.

        Args:
            lengths: (S,) int64 on the CPU, samples of each; they add up to B.
            state: (S, state_dim) of the memory before each sequence.
            is_start: (B,) bool, the sample is the first of an episode.
        """
        assert int(lengths.sum()) == len(is_start), (lengths, is_start.shape)
        self._lengths = lengths
        self._first = lengths.cumsum(0) - lengths
        self._state, self._is_start = state, is_start

    def __len__(self) -> int:
        """Number of sequences S."""
        return len(self._lengths)

    def everything(self) -> Sequences:
        """Return all sequences, for the samples in their own order."""
        return sequences_of(self._lengths.tolist(), state=self._state, is_start=self._is_start)

    def pick(self, index: Tensor) -> tuple[Tensor, Sequences]:
        """Pick sequences.

        Args:
            index: (s,) int64, which ones.

        Returns:
            (b,) int64, their samples one sequence after the other, and how those lie in time.
        """
        device = index.device
        chosen = index.cpu()
        lengths = self._lengths[chosen]
        offset = torch.arange(int(lengths.sum())) - torch.repeat_interleave(
            lengths.cumsum(0) - lengths, lengths
        )
        samples = (torch.repeat_interleave(self._first[chosen], lengths) + offset).to(device)
        return samples, sequences_of(
            lengths.tolist(), state=self._state[index], is_start=self._is_start[samples]
        )


def cut_evenly(*, state: Tensor, done: Tensor, length: int, device: torch.device) -> SequenceTable:
    """Cut a rollout into stretches of equal length.

    Args:
        state: (T / length, N, state_dim) of the memory before each stretch, emptied already where
            an episode begins with it.
        done: (T, N) bool, the learner's episode ended with the step.
        length: Steps of a stretch, a divisor of T.
        device: Where the samples are.
    """
    n_steps, n_envs = done.shape
    assert n_steps % length == 0, (n_steps, length)
    return SequenceTable(
        torch.full((n_envs * (n_steps // length),), length),
        state=flatten_env_major(state).to(device),
        is_start=flatten_env_major(_follows_end(done, first=False)).to(device),
    )


def cut_by_episodes(
    *, state_dim: int, done: Tensor, is_valid: Tensor, device: torch.device
) -> SequenceTable:
    """Cut a rollout that began with new episodes everywhere into its episodes.

    Args:
        state_dim: Width of the state of the memory.
        done: (T, N) bool, the learner's episode ended with the step.
        is_valid: (T, N) bool, the step is a sample; in each environment the first ones are.
        device: Where the samples are.
    """
    valid = flatten_env_major(is_valid)
    is_start = flatten_env_major(_follows_end(done, first=True))[valid]
    first = is_start.nonzero().squeeze(-1)
    end = torch.cat([first[1:], torch.tensor([len(is_start)])])
    state = torch.zeros((len(first), state_dim), device=device)
    return SequenceTable(end - first, state=state, is_start=is_start.to(device))


def _follows_end(done: Tensor, *, first: bool) -> Tensor:
    """Say of each step whether an episode ended just before it, `first` of the first steps."""
    return torch.cat([torch.full_like(done[:1], first), done[:-1]])
