"""What every data source offers to an agent and to whoever saves it."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch.utils.data import DataLoader


class HookBatch:
    """A batch that carries no data, only the name of the work that is due."""

    def __init__(self, hook: str) -> None:
        self.hook = hook

    def to(self, device: torch.device) -> HookBatch:
        """Return itself: there is nothing to move."""
        del device
        return self


class DataSource(Protocol):
    """Where an agent's batches come from."""

    @property
    def has_started(self) -> bool:
        """Whether the environments have been reset, or restored."""

    def reset(self, *, seed: int) -> None:
        """Seed and reset the environments; called once, before anything is collected."""

    @property
    def loader(self) -> DataLoader[Any]:
        """Yields the one batch of an epoch each time it is iterated."""

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to go on, as plain containers and tensors."""

    def load_state_dict(self, state: dict[str, Any]) -> int:
        """Restore what `state_dict` returned; returns how many environments could not be."""


def build_hook_loader(hook: str) -> DataLoader[HookBatch]:
    """Build a loader that yields one batch, which says that an epoch's work is due."""
    return DataLoader(
        [HookBatch(hook)],  # type: ignore[arg-type]
        batch_size=None,
        # Of its own: the loader draws a seed for workers that it does not have.
        generator=torch.Generator(),
    )
