"""The data source of agents that learn from demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from utils.demonstrations.windows import Window, Windows
from utils.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class WindowBatch:
    """All minibatches of an epoch, by index, and the name of the hook that they are for."""

    hook: str
    index_table: Tensor
    """(n_updates, batch_size) int64 among the steps that have a window."""
    windows: Windows

    def to(self, device: torch.device) -> WindowBatch:
        """Return itself: demonstrations stay on the CPU, and each minibatch is moved."""
        del device
        return self

    def minibatches(self) -> Iterator[Window]:
        """Yield one minibatch after another, in the order of the table."""
        for index in self.index_table:
            yield self.windows.gather(index)


class _TableSampler(Sampler[Tensor]):
    """Yields the table of an epoch: passes over everything, each in a new order, go on through it.

    The end of one pass and the beginning of the next may share a minibatch.
    """

    def __init__(
        self,
        n_windows: int,
        *,
        batch_size: int,
        n_updates: Callable[[], int],
        generator: torch.Generator,
    ) -> None:
        self._n_windows, self._batch_size = n_windows, batch_size
        self._n_updates, self._generator = n_updates, generator
        self.rest = torch.empty(0, dtype=torch.int64)

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Tensor]:
        n = self._n_updates() * self._batch_size
        parts, missing = [self.rest], n - len(self.rest)
        while missing > 0:
            parts.append(torch.randperm(self._n_windows, generator=self._generator))
            missing -= self._n_windows
        order = torch.cat(parts)
        self.rest = order[n:].clone()
        yield order[:n].view(-1, self._batch_size)


class _Indexed(Dataset[WindowBatch]):
    """Lets a DataLoader pick with a table of indices."""

    def __init__(self, windows: Windows, hook: str) -> None:
        self._windows, self._hook = windows, hook

    def __getitem__(self, index_table: Tensor) -> WindowBatch:
        return WindowBatch(self._hook, index_table, self._windows)


class WindowSource:
    """Draws minibatches of windows; steps no environment. See `DataSource`."""

    has_started = True

    def __init__(
        self,
        windows: Windows,
        *,
        batch_size: int,
        n_updates: Callable[[], int],
        seed: int,
        hook: str = "update",
    ) -> None:
        """Put windows and loader together.

        Args:
            windows: What is learnt from.
            batch_size: Windows of an update.
            n_updates: Says how many updates the coming epoch has.
            seed: Of the order.
            hook: Name of the work that batches are for.
        """
        self.windows = windows
        self._generator = torch.Generator().manual_seed(seed)
        self._sampler = _TableSampler(
            len(windows), batch_size=batch_size, n_updates=n_updates, generator=self._generator
        )
        self._fingerprint: str | None = None
        # Of its own: the loader draws a seed for workers that it does not have.
        self.loader = DataLoader(
            _Indexed(windows, hook),
            sampler=self._sampler,
            batch_size=None,
            generator=torch.Generator(),
        )

    @property
    def fingerprint(self) -> str:
        """A digest of the demonstrations."""
        if self._fingerprint is None:
            self._fingerprint = self.windows.demonstrations.fingerprint()
        return self._fingerprint

    def reset(self, *, seed: int) -> None:
        """Do nothing: there is no environment."""

    def state_dict(self) -> dict[str, Any]:
        """Return the order to come, and which demonstrations it is of."""
        return {
            "generator": self._generator.get_state(),
            "rest": self._sampler.rest,
            "demonstrations": self.fingerprint,
        }

    def load_state_dict(self, state: dict[str, Any]) -> int:
        """Restore what `state_dict` returned; 0, for no environment can be lost.

        Raises:
            CheckpointError: The demonstrations are not those of the checkpoint.
        """
        if state["demonstrations"] != self.fingerprint:
            raise CheckpointError(
                "the demonstrations are not those that the run has learnt from so far: the dataset "
                "was changed or replaced; put it back, or begin a new run"
            )
        self._generator.set_state(state["generator"])
        self._sampler.rest = state["rest"]
        return 0
