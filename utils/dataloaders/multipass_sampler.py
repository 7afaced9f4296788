"""Several shuffled passes over a rollout, cut into minibatches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.utils.data import Sampler


class MultiPassSampler(Sampler[Tensor]):
    """Yield one table of indices for each update: (n_passes * n_minibatches, batch_size).

    Every pass is a permutation of the samples, so each sample is seen exactly `n_passes` times. A
    minibatch of all samples is in their own order.
    """

    def __init__(
        self,
        n_samples: Callable[[], int],
        *,
        batch_size: Callable[[], int],
        n_passes: int,
        generator: torch.Generator,
    ) -> None:
        """Remember where the sizes come from; they are asked for at each update.

        Args:
            n_samples: Number of samples of the current rollout.
            batch_size: Samples of a minibatch; must divide the number of samples.
            n_passes: Passes over the samples.
            generator: Source of the permutations, saved with the run.
        """
        self._n_samples = n_samples
        self._batch_size = batch_size
        self._n_passes = n_passes
        self._generator = generator

    def __len__(self) -> int:
        """One table an update."""
        return 1

    def __iter__(self) -> Iterator[Tensor]:
        """Yield the table of the current rollout, int64."""
        n, size = self._n_samples(), self._batch_size()
        assert n % size == 0, f"{n} samples are not a multiple of the batch size {size}"
        if size == n:  # the order of everything changes no mean
            yield torch.arange(n).expand(self._n_passes, n)
            return
        passes = [torch.randperm(n, generator=self._generator) for _ in range(self._n_passes)]
        yield torch.cat(passes).view(-1, size)
