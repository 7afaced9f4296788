"""Which environments of a run belong to one process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """Environments `first` to `first + n` - 1 of the run's `total`."""

    first: int
    n: int
    total: int

    @classmethod
    def of_rank(cls, total: int, *, rank: int, size: int) -> Share:
        """Return what one of `size` processes has of `total` environments, which they divide."""
        assert total % size == 0, (total, size)
        n = total // size
        return cls(rank * n, n, total)
