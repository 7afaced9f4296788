"""What curves are drawn over: a counter that goes on from one row of metrics to the next."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Axis(NamedTuple):
    """A counter of a run."""

    key: str
    """Of its value in a row of metrics."""
    counter: str
    """Its name among the counters of a checkpoint."""
    name: str
    """For people."""


TIMESTEPS = Axis("timesteps", "timesteps", "timesteps")
UPDATES = Axis("train/cnt/updates", "updates", "updates")
EPOCHS = Axis("epoch", "epoch", "epochs")
_MOST_ROWS_AT_ONCE = 3  # an update and an evaluation may follow the last timestep


def choose_axis(rows: Sequence[Mapping[str, Any]]) -> Axis:
    """Return the timesteps if they go on with the rows, else the updates, else the epochs.

    In phases that only learn from what is stored no timesteps are made, and in those that only
    collect no updates: curves over a counter that stands still would be a vertical line.

    Args:
        rows: Metrics of one epoch each, oldest first; `epoch` rises.
    """
    for axis in (TIMESTEPS, UPDATES):
        values = [row.get(axis.key) for row in rows]
        longest = max((sum(1 for _ in same) for _, same in itertools.groupby(values)), default=0)
        if None not in values and longest <= _MOST_ROWS_AT_ONCE:
            return axis
    return EPOCHS
