"""Where the rows of N environments are in their rings, and at which a sequence can begin."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from utils.buffers import sequence_kernels as kernels


class StartChanges(NamedTuple):
    """Places of starts that came and went."""

    added: np.ndarray
    """(a,) int64"""
    removed: np.ndarray
    """(r,) int64"""


class StartTable:
    """Heads and tails of N rings, and a list of all starts, from which one is drawn in one step.

    The rows of environment e lie at `e * n_rows` and on. A row is complete, and may be part of a
    sequence, once something was done there or an episode ended there. All of this lies in ordinary
    memory, wherever the rows themselves are.

    Attributes:
        head: (N,) int64, number of the newest row, which is not complete.
        tail: (N,) int64, number of the oldest row that is kept.
        flags: (n_slots,) uint8 of each row.
    """

    def __init__(
        self, *, n_envs: int, n_rows: int, n_kept: int, first: int, length: int, crosses: bool
    ) -> None:
        """Allocate the tables.

        Args:
            n_envs: Number of environments (N).
            n_rows: Rows of each ring.
            n_kept: Complete rows of each environment that are kept.
            first: Number of the first row.
            length: Rows of a sequence.
            crosses: Whether a sequence may go over the end of an episode.
        """
        self.n_envs, self.n_rows, self._n_kept = n_envs, n_rows, n_kept
        self._length, self._crosses = length, crosses
        self.head = np.full(n_envs, first, np.int64)
        self.tail = self.head.copy()
        self._run = np.zeros(n_envs, np.int64)
        n_slots = n_envs * n_rows
        self.flags = np.zeros(n_slots, np.uint8)
        self._starts = np.zeros(n_slots, np.int32)
        self._position = np.zeros(n_slots, np.int32)
        self._position -= 1
        self._n_starts = np.zeros((), np.int64)

    @property
    def n_starts(self) -> int:
        """Rows at which a sequence can begin."""
        return int(self._n_starts)

    @property
    def n_held(self) -> int:
        """Complete rows that are kept."""
        return int((self.head - self.tail).sum())

    def places(self, environments: np.ndarray, ahead: Any = 0) -> np.ndarray:
        """Return where the newest rows lie, or those `ahead` of them, (n,) int64."""
        return environments * self.n_rows + (self.head[environments] + ahead) % self.n_rows

    def advance(
        self, environments: np.ndarray, n_new: np.ndarray, ends_episode: np.ndarray
    ) -> StartChanges:
        """Take in that rows are complete; see `complete_rows`."""
        added, removed = np.empty((2, 2 * len(environments)), np.int64)
        n_added, n_removed = kernels.complete_rows(
            environments,
            n_new,
            ends_episode,
            self._length,
            self._crosses,
            self._n_kept,
            self.head,
            self.tail,
            self._run,
            self._starts,
            self._position,
            self._n_starts,
            added,
            removed,
        )
        return StartChanges(added[:n_added], removed[:n_removed])

    def all_starts(self) -> np.ndarray:
        """Return the names of all rows at which a sequence can begin, (n_starts,) int64, sorted."""
        return np.sort(self.name(self._starts[: self.n_starts].astype(np.int64)))

    def draw(self, n: int, *, generator: torch.Generator) -> np.ndarray:
        """Draw n starts with replacement, all equally likely; return their places."""
        chosen = torch.randint(self.n_starts, (n,), generator=generator, device=generator.device)
        return self._starts[chosen.cpu().numpy()].astype(np.int64)

    def nth_rows(self, numbers: np.ndarray) -> np.ndarray:
        """Return the names of complete rows by number, (n,) int64 each.

        Args:
            numbers: Below `n_held`; they count through the rows of one environment after the other.
        """
        ends = np.cumsum(self.head - self.tail)
        e = np.searchsorted(ends, numbers, side="right")
        row = self.head[e] - (ends[e] - numbers)
        return row * self.n_envs + e

    def name(self, places: np.ndarray) -> np.ndarray:
        """Return the names of the rows in places (B,)."""
        return kernels.name_rows(places, self.head, self.n_rows)

    def windows(self, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the rows of sequences lie and their names, both (B, L) int64."""
        places, index = np.empty((2, len(names), self._length), np.int64)
        names = np.ascontiguousarray(names)
        kernels.window_places(names, self.n_envs, self.n_rows, self._length, places, index)
        return places, index

    def frames(self, places: np.ndarray, n_stacked: int) -> np.ndarray:
        """Return where the frames of stacks lie, (n, n_stacked) int64, oldest first."""
        frames = np.empty((places.size, n_stacked), np.int64)
        kernels.frame_places(places.reshape(-1), self.n_rows, self.flags, frames)
        return frames

    def held(self, index: np.ndarray) -> np.ndarray:
        """Return where named rows (n,) lie, int64; -1 for those that are no longer kept."""
        places = np.empty(len(index), np.int64)
        index = np.ascontiguousarray(index)
        kernels.held_places(index, self.tail, self.head, self.n_rows, places)
        return places

    def counters(self) -> dict[str, Any]:
        """Return what is not in `arrays`, as JSON."""
        return {
            "head": self.head.tolist(),
            "tail": self.tail.tolist(),
            "run": self._run.tolist(),
            "n_starts": self.n_starts,
        }

    def restore_counters(self, counters: dict[str, Any]) -> None:
        """Restore what `counters` returned."""
        for name, array in (("head", self.head), ("tail", self.tail), ("run", self._run)):
            array[:] = counters[name]
        self._n_starts[()] = counters["n_starts"]

    def arrays(self, n_rows: int) -> dict[str, Tensor]:
        """Return views of the first rows' flags and of the starts, to save or to read into."""
        flags = torch.from_numpy(self.flags).view(self.n_envs, self.n_rows)
        return {
            "flags": flags[:, :n_rows],
            "starts": torch.from_numpy(self._starts)[: self.n_starts],
        }

    def find_positions(self) -> None:
        """Work out where each start is in the list, after that was read."""
        self._position[:] = -1
        self._position[self._starts[: self.n_starts]] = np.arange(self.n_starts)


class FreshStarts:
    """Starts of sequences that nobody has seen, in the order of their coming.

    Each environment's experience is cut into stretches of `stride` new rows; the sequence that ends
    with a stretch is served once, before others are drawn.
    """

    def __init__(self, n_envs: int, *, stride: int) -> None:
        """Begin without any.

        Args:
            n_envs: Number of environments.
            stride: New rows in a sequence.
        """
        self._stride = stride
        self._next = np.zeros(n_envs, np.int64)
        self._queue: deque[int] = deque()

    def add(self, names: np.ndarray) -> None:
        """Take in new starts, those of one environment in order."""
        n_envs = len(self._next)
        for name in names[names // n_envs >= self._next[names % n_envs]].tolist():
            row, e = divmod(name, n_envs)
            if row >= self._next[e]:
                self._queue.append(name)
                self._next[e] = row + self._stride

    def take(self, n: int) -> np.ndarray:
        """Return up to n names, oldest first; they are gone then."""
        return np.array(
            [self._queue.popleft() for _ in range(min(n, len(self._queue)))], dtype=np.int64
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the queue as JSON."""
        return {"next": self._next.tolist(), "queue": list(self._queue)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._next[:] = state["next"]
        self._queue = deque(state["queue"])
