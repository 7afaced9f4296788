"""Remembers how each environment's episodes began and what was done since, to replay them."""

from __future__ import annotations

from typing import Any

import numpy as np

# A generator's state costs a microsecond to read, so an episode that ends this soon after the
# last reading is replayed together with the next one.
_FEWEST_STEPS_BETWEEN_STARTS = 256
_MOST_ROWS = 1 << 17  # vector steps; of a longer log, what is older than half cannot be replayed


class EpisodeLog:
    """Actions of N environments since a moment from which they can be replayed.

    Each environment has its own moment: a reset before which the seed or the state of its
    generator is known. Later resets are noted by the number of actions before them. Rows that no
    environment needs are dropped when the log is full, so there are at most twice as many as
    were needed at the last time, and an append costs the same on average however long it is.
    """

    def __init__(self, n_envs: int) -> None:
        """Start empty; `begin` comes before the first `append`."""
        self._table: np.ndarray | None = None
        self._n_rows = 0
        self._first_rows = [0] * n_envs
        self._starts: list[dict[str, Any]] = [{} for _ in range(n_envs)]
        self._resets: list[list[int]] = [[] for _ in range(n_envs)]
        self._is_whole = [True] * n_envs

    def __len__(self) -> int:
        """Return the number of vector steps that are held."""
        return self._n_rows

    def append(self, actions: np.ndarray) -> np.ndarray:
        """Keep one vector step's actions (N, ...); return the copy that was kept, a view."""
        table, t = self._table, self._n_rows
        if table is None or t == len(table):
            table = self._make_room(actions)
            t = self._n_rows
        table[t] = actions
        self._n_rows = t + 1
        return table[t]

    def begin(self, i: int, start: dict[str, Any]) -> None:
        """Note that environment `i` is about to be reset from a known state.

        Args:
            i: The environment.
            start: `seed` (int or None), `generator` (state of its bit generator or None) and
                `options` of the reset.
        """
        self._first_rows[i] = self._n_rows
        self._starts[i] = start
        self._resets[i] = []
        self._is_whole[i] = True

    def is_start_due(self, i: int) -> bool:
        """Say whether the next reset of environment `i` should be noted by `begin`."""
        n_steps = self._n_rows - self._first_rows[i]
        return n_steps >= _FEWEST_STEPS_BETWEEN_STARTS or not self._is_whole[i]

    def note_reset(self, i: int) -> None:
        """Note a reset of environment `i` without seed, options or a state read before it."""
        self._resets[i].append(self._n_rows - self._first_rows[i])

    def export(self, i: int) -> dict[str, Any]:
        """Return environment `i`'s log as plain containers and one array of actions (T, ...)."""
        return {
            "start": dict(self._starts[i]),
            "actions": self._export_actions(i),
            "resets": list(self._resets[i]),
            "is_whole": self._is_whole[i],
        }

    def load(self, logs: list[dict[str, Any]], empty_row: np.ndarray) -> None:
        """Replace all logs by exported ones, aligned at their ends.

        Args:
            logs: One per environment, as `export` returned them.
            empty_row: (N, ...) array of the shape and dtype of a row.
        """
        longest = max(len(log["actions"]) for log in logs)
        table = np.zeros((longest, *empty_row.shape), empty_row.dtype)
        for i, log in enumerate(logs):
            first = longest - len(log["actions"])
            if first < longest:
                table[first:, i] = log["actions"]
            self._first_rows[i] = first
            self._starts[i] = dict(log["start"])
            self._resets[i] = list(log["resets"])
            self._is_whole[i] = log["is_whole"]
        self._table, self._n_rows = table, longest

    def _export_actions(self, i: int) -> np.ndarray:
        if self._table is None:
            return np.empty(0)
        return self._table[self._first_rows[i] : self._n_rows, i].copy()

    def _make_room(self, actions: np.ndarray) -> np.ndarray:
        """Drop the rows before the oldest that is needed, of a full log at least half, and double.

        Args:
            actions: (N, ...) of the shape and dtype of a row.
        """
        if self._n_rows >= _MOST_ROWS:
            self._forget_before(self._n_rows - _MOST_ROWS // 2)
        n_unneeded = min(self._first_rows)
        self._first_rows = [first - n_unneeded for first in self._first_rows]
        n_kept = self._n_rows - n_unneeded
        n_rows = min(max(2 * n_kept, _FEWEST_STEPS_BETWEEN_STARTS), _MOST_ROWS)
        table = np.empty((n_rows, *actions.shape), actions.dtype)
        if self._table is not None:
            table[:n_kept] = self._table[n_unneeded : self._n_rows]
        self._table, self._n_rows = table, n_kept
        return table

    def _forget_before(self, oldest: int) -> None:
        for i, first in enumerate(self._first_rows):
            if first < oldest:
                self._first_rows[i], self._is_whole[i] = oldest, False
