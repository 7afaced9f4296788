"""What every writer of metrics can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

EPOCH_KEY = "train/cnt/epoch"
TIMESTEPS_KEY = "train/cnt/timesteps"


class LogWriter(Protocol):
    """Takes one row of metrics per epoch."""

    def write(self, row: Mapping[str, float], *, epoch: int, timesteps: int) -> None:
        """Take the row of one epoch.

        Args:
            row: Metric key to value; a metric without a value is absent.
            epoch: Epochs completed.
            timesteps: Environment steps so far; the x axis of every tracker.
        """
        ...

    def truncate_after(self, epoch: int) -> None:
        """Forget rows of epochs beyond `epoch`: they will be computed and written again."""
        ...

    def close(self) -> None:
        """Finish; a second call does nothing."""
        ...
