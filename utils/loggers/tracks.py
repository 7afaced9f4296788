"""What the console remembers of each metric: a bounded history, the best, the last shown."""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping

from utils.metrics_config import MetricsConfig, MetricSpec

HISTORY_LENGTH = 120


class Track:
    """The recent values of one metric."""

    __slots__ = ("best", "epoch", "history", "is_new_best", "name", "shown", "spec", "value")

    def __init__(self, name: str, spec: MetricSpec) -> None:
        self.name = name
        self.spec = spec
        self.history: collections.deque[float] = collections.deque(maxlen=HISTORY_LENGTH)
        self.value = math.nan
        self.epoch = 0
        self.best: float | None = None
        self.is_new_best = False
        self.shown: float | None = None

    def add(self, value: float, epoch: int) -> None:
        """Take the value of one epoch."""
        self.history.append(value)
        self.value = value
        self.epoch = epoch
        if self.spec.highlight and self.spec.goal is not None and self._beats_best(value):
            self.is_new_best = self.best is not None
            self.best = value

    @property
    def trend(self) -> int:
        """1 for better than what was shown before, -1 for worse, 0 for equal or not comparable."""
        if self.spec.goal is None or self.shown is None or self.value == self.shown:
            return 0
        return 1 if (self.value > self.shown) == (self.spec.goal == "up") else -1

    def mark_shown(self) -> None:
        """Remember what the person has seen now."""
        self.shown = self.value
        self.is_new_best = False

    def _beats_best(self, value: float) -> bool:
        if self.best is None:
            return math.isfinite(value)
        return value > self.best if self.spec.goal == "up" else value < self.best


class Tracks:
    """The tracks of all metrics that the console shows, by group."""

    def __init__(self, config: MetricsConfig) -> None:
        self._config = config
        self._tracks: dict[str, Track | None] = {}
        self._groups: dict[str, list[Track]] | None = None

    def add(self, row: Mapping[str, float], epoch: int) -> None:
        """Take the row of one epoch."""
        tracks = self._tracks
        for key, value in row.items():
            try:
                track = tracks[key]
            except KeyError:
                track = self._start(key)
            if track is not None:
                track.add(value, epoch)

    def get(self, key: str) -> Track | None:
        """Return the track of a key; None when it has no value yet or is not shown."""
        return self._tracks.get(key)

    def groups(self) -> dict[str, list[Track]]:
        """Return the tracks by group, both in the order of the metrics file."""
        if self._groups is None:
            self._groups = {}
            for key in self._config.sort_keys(list(self._tracks)):
                track = self._tracks[key]
                if track is not None:
                    self._groups.setdefault(key.rpartition("/")[0], []).append(track)
        return self._groups

    def highlighted(self) -> list[tuple[str, Track]]:
        """Return key and track of the metrics that a person looks at first."""
        return [
            (f"{group}/{track.name}", track)
            for group, tracks in self.groups().items()
            for track in tracks
            if track.spec.highlight
        ]

    def mark_shown(self) -> None:
        """Remember that the person has seen all values."""
        for tracks in self.groups().values():
            for track in tracks:
                track.mark_shown()

    def _start(self, key: str) -> Track | None:
        spec = self._config.metric(key)
        track = Track(key.rpartition("/")[2], spec) if spec.console else None
        self._tracks[key] = track
        self._groups = None
        return track
