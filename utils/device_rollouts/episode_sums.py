"""What finished episodes come to, added up on the device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from utils.device_rollouts.buffer import DeviceRolloutBuffer


class EpisodeTotals(NamedTuple):
    """Episodes that ended since the last `clear`, as plain numbers."""

    n_episodes: int
    return_sum: float
    return_min: float
    """Infinity without an episode."""
    return_max: float
    """Minus infinity without an episode."""
    length_sum: float


def join_totals(parts: Sequence[EpisodeTotals]) -> EpisodeTotals:
    """Return the totals of several groups of episodes as those of one."""
    count, total, low, high, length = zip(*parts, strict=True)
    return EpisodeTotals(sum(count), sum(total), min(low), max(high), sum(length))


class EpisodeSums:
    """Adds up raw returns and lengths of finished episodes, one rollout at a time."""

    def __init__(self, device: torch.device) -> None:
        """Start without episodes."""
        self.values = torch.empty(5, dtype=torch.float64, device=device)
        self._empty = torch.tensor(
            [0.0, 0.0, math.inf, -math.inf, 0.0], dtype=torch.float64, device=device
        )
        self.clear()

    def clear(self) -> None:
        """Forget all episodes."""
        self.values.copy_(self._empty)

    def add(self, buffer: DeviceRolloutBuffer) -> None:
        """Take in the episodes that ended in a rollout; reads nothing back."""
        done = buffer.done
        returns = buffer.episode_return
        count, total, low, high, length = self.values.unbind(0)
        count += done.sum()
        total += torch.where(done, returns, 0.0).sum(dtype=torch.float64)
        torch.minimum(low, _double(torch.where(done, returns, math.inf).amin()), out=low)
        torch.maximum(high, _double(torch.where(done, returns, -math.inf).amax()), out=high)
        length += torch.where(done, buffer.episode_length, 0).sum()

    def read(self) -> EpisodeTotals:
        """Read the sums back from the device."""
        count, *rest = self.values.tolist()
        return EpisodeTotals(int(count), *rest)


def _double(value: Tensor) -> Tensor:
    return value.to(torch.float64)
