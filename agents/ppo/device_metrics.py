"""Means of metrics, added up on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from utils.distributed.team import Team

_CAPACITY = 64


class MeanSums:
    """Weighted sums of metrics by key; nothing is read back until `read`.

    The place of a key is decided when it first comes, so the same sums can be added to by code
    that runs and by a graph that was captured from it.
    """

    def __init__(self, device: torch.device) -> None:
        """Start without keys."""
        self.device = device
        self.sums = torch.zeros(_CAPACITY, dtype=torch.float64, device=device)
        self.weights = torch.zeros(_CAPACITY, dtype=torch.float64, device=device)
        self._places: dict[str, int] = {}
        self._noted: list[tuple[int, Tensor, Tensor]] = []
        self._constants: dict[float, Tensor] = {}
        self._indices: dict[tuple[int, ...], Tensor] = {}

    def clear(self) -> None:
        """Forget all values, not the keys."""
        self.sums.zero_()
        self.weights.zero_()

    def note(self, key: str, value: Tensor, weight: float | Tensor = 1.0) -> None:
        """Remember a mean until `add_noted`.

        Args:
            key: Metric key.
            value: Scalar on the device.
            weight: Of how many it is the mean: a number, or a scalar on the device.
        """
        place = self._places.setdefault(key, len(self._places))
        assert place < _CAPACITY, key
        if not isinstance(weight, Tensor):
            weight = self._constant(float(weight))
        self._noted.append((place, value, weight))

    def add_noted(self) -> None:
        """Take in what was noted since the last time, all keys in a few operations."""
        places, values, weights = zip(*self._noted, strict=True)
        self._noted.clear()
        if places not in self._indices:
            self._indices[places] = torch.tensor(places, device=self.device)
        index = self._indices[places]
        weight = torch.stack([w.to(torch.float64) for w in weights])
        value = torch.stack(values).to(torch.float64)
        self.sums.index_add_(0, index, value * weight)
        self.weights.index_add_(0, index, weight)

    def _constant(self, number: float) -> Tensor:
        """Return a number as a scalar on the device, always the same tensor."""
        if number not in self._constants:
            self._constants[number] = torch.tensor(number, dtype=torch.float64, device=self.device)
        return self._constants[number]

    def read(self, team: Team | None = None) -> dict[str, float]:
        """Read the means back from the device; a key without weight is absent.

        Args:
            team: The processes over whose values the means are taken; None: this one's alone.
        """
        assert not self._noted, self._noted
        both = torch.stack((self.sums, self.weights))
        if team is not None:
            team.sum_(both)
        sums, weights = both.tolist()
        return {
            key: sums[place] / weights[place]
            for key, place in self._places.items()
            if weights[place] > 0
        }
