"""The data source of agents that learn from their own fresh experience."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from utils.dataloaders.index_collate import UpdateBatch, build_update_loader
from utils.errors import CheckpointError
from utils.rollouts import Collector, RolloutBuffer, RolloutSummary

CollectFunction = Callable[[Collector, RolloutBuffer], RolloutSummary]


class RolloutSource:
    """One rollout an epoch, then one update from it; collection happens when it is asked for."""

    def __init__(
        self,
        collector: Collector,
        buffer: RolloutBuffer,
        *,
        collect: CollectFunction,
        batch_size: Callable[[], int],
        n_passes: int,
        seed: int,
        n_units: Callable[[], int] | None = None,
    ) -> None:
        """Put collector, buffer and loader together.

        Args:
            collector: Steps the environments.
            buffer: Is filled and read.
            collect: Fills the buffer: a number of steps, or a number of episodes.
            batch_size: Units of the buffer in a minibatch, asked for at each update.
            n_passes: Passes over each rollout.
            seed: Of the order of the minibatches.
            n_units: See `build_update_loader`.
        """
        self.collector = collector
        self.buffer = buffer
        self._collect = collect
        self._order_generator = torch.Generator()
        self._order_generator.manual_seed(seed)
        self.loader: DataLoader[UpdateBatch] = build_update_loader(
            buffer,
            hook="update",
            batch_size=batch_size,
            n_passes=n_passes,
            generator=self._order_generator,
            n_units=n_units,
        )

    @property
    def has_started(self) -> bool:
        """Whether the environments have been reset, or restored."""
        return self.collector.has_started

    def reset(self, *, seed: int) -> None:
        """Seed and reset the environments; called once, before the first rollout."""
        self.collector.reset(seed=seed)

    def collect(self) -> RolloutSummary:
        """Fill the buffer with a fresh rollout."""
        return self._collect(self.collector, self.buffer)

    def finish(self, *, advantage: Tensor, returns: Tensor) -> None:
        """Give the rollout its learning targets; the loader can be iterated from here on."""
        self.buffer.finish(advantage=advantage, returns=returns, device=self.collector.device)

    def state_dict(self) -> dict[str, Any]:
        """Return environments, episodes and generators; a rollout is used up when it is saved."""
        return {
            "collector": self.collector.state_dict(),
            "order_generator": self._order_generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> int:
        """Restore what `state_dict` returned; returns how many environments could not be.

        Raises:
            CheckpointError: The state is of a source whose environments live on a device.
        """
        if "collector" not in state:
            raise CheckpointError(
                "the saved state is of vectorization: torch, and the run's config.json leads to "
                'another one now: put "vectorization": "torch" back into it'
            )
        self._order_generator.set_state(state["order_generator"])
        return self.collector.load_state_dict(state["collector"])
