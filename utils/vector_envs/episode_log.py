"""Remembers how each environment's current episode began and what was done since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_FIRST_CAPACITY = 1024  # vector steps
_MOST_CAPACITY = 1 << 18  # vector steps; an episode longer than half of it cannot be replayed


@dataclass(slots=True, kw_only=True)
class EpisodeStart:
    """How an episode began.

    Attributes:
        seed: Seed that reset() was given, or None.
        generator: State of `np_random`'s bit generator right before reset() (None with a seed).
        options: Options that reset() was given, or None.
    """

    seed: int | None = None
    generator: dict[str, Any] | None = None
    options: dict[str, Any] | None = None


@dataclass(slots=True)
class _Episode:
    start: EpisodeStart
    first_row: int
    soft_resets: list[int] = field(default_factory=list)
    is_complete: bool = True


class EpisodeLog:
    """Actions of all environments since their episodes began.

    One row is written per vector step; rows that no current episode needs are dropped when the
    table is full. Old tables are never written again, so rows handed out stay valid.
    """

    def __init__(self, action_shape: tuple[int, ...], action_dtype: np.dtype, n_envs: int) -> None:
        self._table = np.empty((_FIRST_CAPACITY, n_envs, *action_shape), action_dtype)
        self._length = 0
        self._episodes = [_Episode(EpisodeStart(), 0) for _ in range(n_envs)]

    def append(self, actions: np.ndarray) -> np.ndarray:
        """Record one vector step's actions; return them as the stored row (N, ...)."""
        length = self._length
        if length == len(self._table):
            self._make_room()
            length = self._length
        row = self._table[length]
        row[...] = actions
        self._length = length + 1
        return row

    def begin(self, i: int, start: EpisodeStart) -> None:
        """Note that environment `i`'s next action is the first of an episode."""
        self._episodes[i] = _Episode(start, self._length)

    def note_soft_reset(self, i: int) -> None:
        """Note a reset() of environment `i` that goes on with the same true episode."""
        episode = self._episodes[i]
        episode.soft_resets.append(self._length - episode.first_row)

    def export(self, i: int) -> dict[str, Any]:
        """Return environment `i`'s episode as plain containers and one array of actions."""
        episode = self._episodes[i]
        return {
            "seed": episode.start.seed,
            "generator": episode.start.generator,
            "options": episode.start.options,
            "actions": self._table[episode.first_row : self._length, i].copy(),
            "soft_resets": list(episode.soft_resets),
            "is_complete": episode.is_complete,
        }

    def load(self, exported: Sequence[dict[str, Any]]) -> None:
        """Replace all episodes by exported ones, aligned at their ends."""
        longest = max(len(episode["actions"]) for episode in exported)
        capacity = max(_FIRST_CAPACITY, 2 * longest)
        self._table = np.empty((capacity, *self._table.shape[1:]), self._table.dtype)
        self._length = longest
        for i, episode in enumerate(exported):
            first = longest - len(episode["actions"])
            self._table[first:longest, i] = episode["actions"]
            start = EpisodeStart(
                seed=episode["seed"], generator=episode["generator"], options=episode["options"]
            )
            self._episodes[i] = _Episode(
                start, first, list(episode["soft_resets"]), episode["is_complete"]
            )

    def _make_room(self) -> None:
        """Drop rows that no episode needs; widen the table while most of it is needed."""
        oldest = self._length - _MOST_CAPACITY // 2
        for episode in self._episodes:
            if episode.first_row < oldest:
                episode.first_row, episode.is_complete = oldest, False
        kept_from = min(episode.first_row for episode in self._episodes)
        kept = self._length - kept_from
        table = np.empty(
            (max(_FIRST_CAPACITY, 2 * kept), *self._table.shape[1:]), self._table.dtype
        )
        table[:kept] = self._table[kept_from : self._length]
        for episode in self._episodes:
            episode.first_row -= kept_from
        self._table, self._length = table, kept
