"""Samples per second that a loader hands over: our index table, and torch's usual ways."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from utils.benchmarks.contest import Contestant
from utils.dataloaders import build_update_loader
from utils.distributions import Categorical
from utils.rollouts import Minibatch, RolloutBuffer

PEER = "torch DataLoader, sample by sample"
_CARTPOLE_WIDTH = 4


class _Samples(Dataset[tuple[Tensor, ...]]):
    """Transitions one by one, as a dataset usually gives them; also several by a list."""

    def __init__(self, samples: Minibatch) -> None:
        self._samples = samples

    def __len__(self) -> int:
        return self._samples.returns.shape[0]

    def __getitem__(self, index: int | list[int]) -> tuple[Tensor, ...]:
        return tuple(field[index] for field in self._samples if field is not None)


def fill_buffer(*, n_steps: int, n_envs: int) -> RolloutBuffer:
    """Return a finished rollout of CartPole's shapes with arbitrary numbers."""
    buffer = RolloutBuffer(
        n_steps=n_steps,
        n_envs=n_envs,
        observation_space=gym.spaces.Box(-1, 1, (_CARTPOLE_WIDTH,), np.float32),
        distribution=Categorical(2),
    )
    buffer.begin(n_steps)
    targets = torch.randn(n_steps, n_envs, generator=torch.Generator().manual_seed(0))
    buffer.finish(advantage=targets, returns=targets, device=torch.device("cpu"))
    return buffer


def build_contestants(buffer: RolloutBuffer, *, batch_size: int, n_passes: int) -> list[Contestant]:
    """Build the loaders over one rollout; their unit is one sample of a minibatch.

    Args:
        buffer: Finished rollout.
        batch_size: Samples of a minibatch; divides the number of samples.
        n_passes: Shuffled passes over the rollout of one update.
    """
    ours = build_update_loader(
        buffer,
        hook="update",
        batch_size=lambda: batch_size,
        n_passes=n_passes,
        generator=torch.Generator().manual_seed(0),
    )
    dataset = _Samples(buffer.samples)
    single = DataLoader(dataset, batch_size=batch_size, shuffle=True)
    by_list = DataLoader(
        dataset,
        sampler=BatchSampler(RandomSampler(dataset), batch_size, drop_last=False),
        batch_size=None,
    )

    def advance_ours() -> int:
        n = 0
        for batch in ours:
            for minibatch in batch.minibatches():
                n += minibatch.returns.shape[0]
        return n

    return [
        Contestant("ours: index table of an update", advance_ours),
        Contestant("torch DataLoader, lists of indices", _walk(by_list, n_passes)),
        Contestant(PEER, _walk(single, n_passes)),
    ]


def _walk(loader: DataLoader[tuple[Tensor, ...]], n_passes: int) -> Callable[[], int]:
    def advance() -> int:
        return sum(len(batch[-1]) for _ in range(n_passes) for batch in loader)

    return advance
