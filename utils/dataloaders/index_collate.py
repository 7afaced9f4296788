"""The loader of on-policy agents: one batch is the index table of a whole update."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from utils.dataloaders.multipass_sampler import MultiPassSampler
from utils.rollouts import Minibatch, RolloutBuffer


@dataclass(frozen=True, slots=True)
class UpdateBatch:
    """All minibatches of one update, by index, and the name of the hook that they are for."""

    hook: str
    index_table: Tensor
    """(n_passes * n_minibatches, batch_size) int64, units of the buffer: samples or sequences."""
    buffer: RolloutBuffer

    def to(self, device: torch.device) -> UpdateBatch:
        """Return the batch with its table on `device`; the samples are there already."""
        return UpdateBatch(self.hook, self.index_table.to(device), self.buffer)

    def minibatches(self) -> Iterator[Minibatch]:
        """Yield one minibatch after another, in the order of the table."""
        n_units = self.buffer.n_units
        for index in self.index_table:
            # A minibatch of everything needs no picking: the order changes no mean.
            yield self.buffer.samples if len(index) == n_units else self.buffer.gather(index)


class _Indexed(Dataset[UpdateBatch]):
    """Lets a DataLoader pick from the buffer with a table of indices."""

    def __init__(self, buffer: RolloutBuffer, hook: str) -> None:
        self._buffer = buffer
        self._hook = hook

    def __getitem__(self, index_table: Tensor) -> UpdateBatch:
        return UpdateBatch(self._hook, index_table, self._buffer)


def build_update_loader(
    buffer: RolloutBuffer,
    *,
    hook: str,
    batch_size: Callable[[], int],
    n_passes: int,
    generator: torch.Generator,
    n_units: Callable[[], int] | None = None,
) -> DataLoader[UpdateBatch]:
    """Build a loader that yields one `UpdateBatch` each time it is iterated.

    Lightning's loop costs more for each `training_step` than a small network's minibatch, so one
    step is one update. Nothing is collected here: the agent fills the buffer beforehand.

    Args:
        buffer: Finished rollout to pick from.
        hook: Name of the work that the batch is for.
        batch_size: Units of the buffer in a minibatch (see `RolloutBuffer.n_units`), asked for at
            each update.
        n_passes: Passes over the rollout.
        generator: Source of the permutations.
        n_units: Units to pick from, asked for at each update, where the buffer holds only a part
            of them; None: those of the buffer.
    """
    sampler = MultiPassSampler(
        n_units or (lambda: buffer.n_units),
        batch_size=batch_size,
        n_passes=n_passes,
        generator=generator,
    )
    # The loader draws a base seed for workers that it does not have; a generator of its own keeps
    # that out of the global stream.
    return DataLoader(
        _Indexed(buffer, hook),
        sampler=sampler,
        batch_size=None,
        generator=torch.Generator(),
    )
