"""Compiled work on rows of environments that lie in rings, one environment after another."""

from __future__ import annotations

import numpy as np

from gym_envs.numba_settings import njit
from utils.buffers.row_kernels import copy_bytes

FIRST, TERMINATED, TRUNCATED, NEW_FRAMES = 1, 2, 4, 8
"""Flags of a row: an episode begins, ends, is cut off there; its stack shows no older frame."""


@njit(cache=True, nogil=True)
def _add_start(place, starts, position, n_starts):
    starts[n_starts[()]] = place
    position[place] = n_starts[()]
    n_starts[()] += 1


@njit(cache=True, nogil=True)
def _remove_start(place, starts, position, n_starts):
    """Put the last start where the removed one was."""
    n_starts[()] -= 1
    last = starts[n_starts[()]]
    starts[position[place]] = last
    position[last] = position[place]
    position[place] = -1


@njit(cache=True, nogil=True)
def complete_rows(  # noqa: PLR0913 - one array for each purpose
    environments, n_new, ends_episode, length, crosses, n_kept, head, tail, run,
    starts, position, n_starts, added, removed,
):  # fmt: skip
    """Move heads on, and keep the table of the rows at which a sequence can begin.

    Args:
        environments: (n,) int64
        n_new: (n,) int64, how many rows of each are complete now.
        ends_episode: (n,) bool, the last of them ends an episode.
        length: Rows of a sequence.
        crosses: Whether a sequence may go over the end of an episode.
        n_kept: Rows of each environment that are kept.
        head: (N,) int64, number of the row that is not complete yet.
        tail: (N,) int64, number of the oldest row that is kept.
        run: (N,) int64, rows before the head that follow on each other.
        starts: (n_slots,) int32, places of the starts in any order.
        position: (n_slots,) int32, where in `starts` a place is, or -1.
        n_starts: () int64
        added: (2 n,) int64 is written: places of new starts.
        removed: (2 n,) int64 is written: places that are starts no more.

    Returns:
        How many were added, and how many removed.
    """
    n_rows = len(position) // len(head)
    n_added, n_removed = 0, 0
    for i in range(len(environments)):
        e = environments[i]
        for _ in range(n_new[i]):
            run[e] += 1
            if run[e] >= length:
                place = e * n_rows + (head[e] - length + 1) % n_rows
                _add_start(place, starts, position, n_starts)
                added[n_added] = place
                n_added += 1
            head[e] += 1
        if ends_episode[i] and not crosses:
            run[e] = 0
        while tail[e] < head[e] - n_kept:
            place = e * n_rows + tail[e] % n_rows
            if position[place] >= 0:
                _remove_start(place, starts, position, n_starts)
                removed[n_removed] = place
                n_removed += 1
            tail[e] += 1
    return n_added, n_removed


@njit(cache=True, nogil=True)
def name_rows(places, head, n_rows):
    """Return the names (B,) of the rows in places (B,): row * n_envs + environment."""
    names = np.empty(len(places), np.int64)
    for b in range(len(places)):
        e, row = places[b] // n_rows, places[b] % n_rows
        names[b] = (head[e] - (head[e] - row) % n_rows) * len(head) + e
    return names


@njit(cache=True, nogil=True)
def window_places(names, n_envs, n_rows, length, places, index):
    """Find the rows of sequences.

    Args:
        names: (B,) int64 of first rows.
        n_envs: Number of environments.
        n_rows: Rows of each ring.
        length: Rows of a sequence (L).
        places: (B, L) int64 is written.
        index: (B, L) int64 is written: names of the rows.
    """
    for b in range(len(names)):
        row, e = names[b] // n_envs, names[b] % n_envs
        for i in range(length):
            places[b, i] = e * n_rows + (row + i) % n_rows
            index[b, i] = names[b] + i * n_envs


@njit(cache=True, nogil=True)
def frame_places(places, n_rows, flags, frames):
    """Find the frames of stacks; where older ones are missing the oldest is repeated.

    Args:
        places: (B,) int64 of rows.
        n_rows: Rows of each ring.
        flags: (n_slots,) uint8
        frames: (B, S) int64 is written: places, oldest first.
    """
    n_stacked = frames.shape[1]
    for b in range(len(places)):
        start = places[b] // n_rows * n_rows
        place = places[b]
        for i in range(n_stacked - 1, -1, -1):
            frames[b, i] = place
            if flags[place] & NEW_FRAMES == 0:
                place = start + (place - start - 1) % n_rows


@njit(cache=True, nogil=True)
def copy_windows(source, row_bytes, target, places, n_rows):
    """Copy sequences of rows, each in one piece or, over the end of a ring, in two.

    Args:
        source: Address of the rows.
        row_bytes: Bytes of one.
        target: Address of (B, L) rows.
        places: (B, L) int64
        n_rows: Rows of each ring.
    """
    length = places.shape[1]
    for b in range(len(places)):
        before_end = min(length, n_rows - places[b, 0] % n_rows)
        begin = target + b * length * row_bytes
        copy_bytes(begin, source + places[b, 0] * row_bytes, before_end * row_bytes)
        if before_end < length:
            rest = length - before_end
            begin += before_end * row_bytes
            copy_bytes(begin, source + places[b, before_end] * row_bytes, rest * row_bytes)


@njit(cache=True, nogil=True)
def held_places(index, tail, head, n_rows, places):
    """Find where rows lie, or -1 for those that are no longer held.

    Args:
        index: (n,) int64 names.
        tail: (N,) int64
        head: (N,) int64
        n_rows: Rows of each ring.
        places: (n,) int64 is written.
    """
    for i in range(len(index)):
        row, e = index[i] // len(tail), index[i] % len(tail)
        is_held = tail[e] <= row < head[e]
        places[i] = e * n_rows + row % n_rows if is_held else -1
