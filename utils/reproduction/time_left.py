"""How long trainings will take, by what those before them took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class TimeLeft:
    """How long trainings will take, by what those before them took."""

    def __init__(self, seconds: Mapping[str, float], n_processes: int) -> None:
        """Begin with what is known of configs.

        Args:
            seconds: One training of a config, on whatever machine that was.
            n_processes: Trainings side by side.
        """
        self._known, self._n_processes = dict(seconds), n_processes
        self._taken: dict[str, list[float]] = {}

    def note(self, config_id: str, seconds: float) -> None:
        """Take in that a training took so long."""
        self._taken.setdefault(config_id, []).append(seconds)

    @property
    def _slowdown(self) -> float:
        """How many times longer than was known trainings take here."""
        pairs = [
            (taken, self._known[config_id])
            for config_id, group in self._taken.items()
            if self._known.get(config_id)
            for taken in group
        ]
        return sum(taken for taken, _ in pairs) / sum(known for _, known in pairs) if pairs else 1.0

    def of(self, config_id: str) -> float | None:
        """Return the seconds of one training; None where nothing tells."""
        taken = self._taken.get(config_id)
        if taken:
            return sum(taken) / len(taken)
        known = self._known.get(config_id)
        return None if known is None else known * self._slowdown

    def left(self, waiting: Sequence[str], running: Sequence[tuple[str, float]]) -> float | None:
        """Return the wall time until all is done, or None where it cannot be known.

        Args:
            waiting: Config ids of what has not begun.
            running: Config id and seconds so far of what runs.
        """
        ahead = [self.of(config_id) for config_id in waiting]
        rest = []
        for config_id, so_far in running:
            whole = self.of(config_id)
            rest.append(None if whole is None else max(0.0, whole - so_far))
        if None in ahead or None in rest:
            return None
        total = sum(ahead) + sum(rest)  # type: ignore[arg-type]
        return max([total / self._n_processes, *rest])  # type: ignore[type-var, list-item]


def describe_seconds(seconds: float) -> str:
    """Return a length of time in words: `45 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
