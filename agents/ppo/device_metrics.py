"""Means of metrics, added up on the device."""

from __future__ import annotations

import torch
from torch import Tensor

_CAPACITY = 64


class MeanSums:
    """Weighted sums of metrics by key; nothing is read back until `read`.

    The place of a key is decided when it first comes, so the same sums can be added to by code
    that runs and by a graph that was captured from it.
    """

    def __init__(self, device: torch.device) -> None:
        """Start without keys."""
        self.sums = torch.zeros(_CAPACITY, dtype=torch.float64, device=device)
        self.weights = torch.zeros(_CAPACITY, dtype=torch.float64, device=device)
        self._places: dict[str, int] = {}

    def clear(self) -> None:
        """Forget all values, not the keys."""
        self.sums.zero_()
        self.weights.zero_()

    def add(self, key: str, value: Tensor, weight: float | Tensor = 1.0) -> None:
        """Take in a mean.

        Args:
            key: Metric key.
            value: Scalar on the device.
            weight: Of how many it is the mean: a number, or a scalar on the device.
        """
        place = self._places.setdefault(key, len(self._places))
        assert place < _CAPACITY, key
        self.sums[place] += value * weight
        self.weights[place] += weight

    def read(self) -> dict[str, float]:
        """Read the means back from the device; a key without weight is absent."""
        sums, weights = torch.stack((self.sums, self.weights)).tolist()
        return {
            key: sums[place] / weights[place]
            for key, place in self._places.items()
            if weights[place] > 0
        }
