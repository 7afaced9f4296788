"""How far a run has come, in every unit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(kw_only=True, slots=True)
class Counters:
    """What the run has done since its very first step, resumed parts included."""

    epoch: int = 0
    """Epochs completed."""
    timesteps: int = 0
    """Environment steps, summed over the environments."""
    vec_steps: int = 0
    """Calls of the vector environment's step."""
    updates: int = 0
    """Optimiser steps that were really made."""
    episodes: int = 0
    """Training episodes that ended."""

    def to_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, counts: Mapping[str, int]) -> Counters:
        """Rebuild counters from `to_dict`; every count must be there."""
        names = {field.name for field in dataclasses.fields(cls)}
        assert counts.keys() == names, (sorted(counts), sorted(names))
        return cls(**counts)
