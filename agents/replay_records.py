"""Which metrics collecting and replayed updates leave in the recorder."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from utils.metrics import MetricsRecorder
from utils.rollouts import RolloutSummary


def record_episodes(recorder: MetricsRecorder, summary: RolloutSummary) -> None:
    """Record the episodes that ended, as far as any did."""
    record = recorder.record
    record("train/roll/n_episodes", float(summary.n_episodes))
    if summary.n_episodes:
        returns, lengths = summary.episode_returns, summary.episode_lengths
        record("train/roll/ep_rew_mean", sum(returns) / len(returns))
        record("train/roll/ep_rew_min", min(returns))
        record("train/roll/ep_rew_max", max(returns))
        record("train/roll/ep_len_mean", sum(lengths) / len(lengths))
    for name, mean in summary.episode_metrics.items():
        record(f"train/env/{name}", mean)


class UpdateLog:
    """Keeps what the updates of an epoch say, and reads it back from the device once."""

    def __init__(self) -> None:
        """Begin empty."""
        self._keys: tuple[str, ...] = ()
        self._rows: list[Tensor] = []
        self.n_updates = 0
        """Updates since the last flush."""
        self.seconds = 0.0
        """What they took, where somebody adds it up; since the last flush as well."""

    def add(self, metrics: dict[str, Tensor]) -> None:
        """Take in the scalars of one update."""
        self.add_rows(tuple(metrics), torch.stack(tuple(metrics.values())).unsqueeze(0))

    def add_rows(self, keys: tuple[str, ...], rows: Tensor) -> None:
        """Take in several updates at once.

        Args:
            keys: Metric keys, one per column.
            rows: (n_updates, n_keys)
        """
        assert keys == self._keys or not self._rows, (keys, self._keys)
        self._keys = keys
        self._rows.append(rows)
        self.n_updates += len(rows)

    def flush(
        self, mean_of_all: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[dict[str, float], tuple[str, float, int] | None]:
        """Return the mean of each metric, and begin anew.

        Args:
            mean_of_all: Averages numbers over the processes that train, all of which made as many
                updates; None for one alone.

        Returns:
            The means by key, and key, value and number (from 0) of the first update whose numbers
            are not finite, or None.
        """
        self.seconds = 0.0
        if not self._rows:
            return {}, None
        rows, keys = torch.cat(self._rows).double().cpu(), self._keys
        if mean_of_all is not None:
            rows = mean_of_all(rows)
        self._rows, self.n_updates = [], 0
        if not math.isfinite(float(rows.sum())):
            update, column = (int(i) for i in (~torch.isfinite(rows)).nonzero()[0])
            return {}, (keys[column], float(rows[update, column]), update)
        return dict(zip(keys, rows.mean(dim=0).tolist(), strict=True)), None
