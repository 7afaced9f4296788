"""Compiled picking of transitions: one pass over a batch."""

from __future__ import annotations

import numpy as np

from gym_envs.numba_settings import njit
from utils.buffers.row_kernels import READ_SOON, copy_rows, copy_stacks, prefetch


@njit(cache=True, nogil=True)
def _resolve(  # noqa: PLR0913, D417 - one array for each purpose
    index, n_envs, n_rows, tail, head, powers, rewards, endings, outcome, flags, last, places
):
    """Sum rewards and find what the steps led to; see `gather`.

    Args:
        last: (B,) int64 is written: the last step of each transition.
        places: (2, B) int64 is written: where first and next newest frames lie.

    Returns:
        Whether all names are of steps from `tail` to before `head`.
    """
    n_step = len(powers) - 1
    are_held = True
    for b in range(len(index)):
        if b + READ_SOON < len(index):
            ahead = index[b + READ_SOON] % (n_rows * n_envs)
            prefetch(rewards.ctypes.data + 4 * ahead)
            prefetch(endings.ctypes.data + 4 * ahead)
        step, env = index[b] // n_envs, index[b] % n_envs
        are_held = are_held and tail <= step < head
        place = step % n_rows * n_envs + env
        places[0, b] = place
        total = 0.0
        end = 0
        for i in range(n_step):
            total += powers[i] * rewards[place]
            end = endings[place]
            last[b] = step + i
            place = (step + i + 1) % n_rows * n_envs + env
            if end != 0 or step + i + 1 >= head:
                break
        places[1, b] = place if end == 0 else n_rows * n_envs + abs(end) - 1
        outcome[0, b] = total
        outcome[1, b] = 0.0 if end > 0 else powers[last[b] - step + 1]
        flags[0, b] = end > 0
        flags[1, b] = end < 0
    return are_held


@njit(cache=True, nogil=True)
def _find_older(index, n_envs, n_rows, endings, steps, is_next, older, ages):
    """Find the frames before the newest one.

    Args:
        index: (B,) names, for their environments.
        n_envs: Number of environments.
        n_rows: Rows of the ring.
        endings: Flat int32.
        steps: (B,) int64, whose stack is wanted.
        is_next: Wanted is the stack that the step led to.
        older: (B, S - 1) int64 is written: places, the latest first.
        ages: (B,) int64 is written: how many there are.
    """
    for b in range(len(index)):
        env = index[b] % n_envs
        ages[b] = 0
        for i in range(older.shape[1]):
            place = (steps[b] - 1 - i + is_next) % n_rows * n_envs + env
            if endings[place] != 0 and not (is_next and i == 0):
                break
            older[b, i] = place
            ages[b] = i + 1


@njit(cache=True, nogil=True)
def gather(  # noqa: PLR0913 - one array for each purpose
    index, n_envs, n_rows, tail, head, powers, rewards, endings, outcome, flags, fields, targets,
    actions,
):  # fmt: skip
    """Pick transitions by name.

    Args:
        index: (B,) int64 names, step * n_envs + environment.
        n_envs: Number of environments (N).
        n_rows: Rows of the ring.
        tail: Number of the oldest step that is held.
        head: Number of the step that comes next.
        powers: (n + 1,) float64, gamma^0 to gamma^n.
        rewards: (n_rows * N,) float32.
        endings: (n_rows * N,) int32, see `TransitionBuffer`.
        outcome: (2, B) float32 is written: rewards of n steps, discounts.
        flags: (2, B) bool is written: terminated, truncated.
        fields: (K, 3) int64 of each leaf: address of its frames, bytes of one, frames of a stack.
        targets: (K, 2) int64 of each leaf: addresses for the first and the next observations.
        actions: (3,) int64: address of the actions, bytes of one, address for those picked.

    Returns:
        False, with nothing picked, if a transition is not held.
    """
    n = len(index)
    last = np.empty(n, np.int64)
    places = np.empty((2, n), np.int64)
    are_held = _resolve(
        index, n_envs, n_rows, tail, head, powers, rewards, endings, outcome, flags, last, places
    )
    if not are_held:
        return False
    copy_rows(actions[0], actions[1], actions[2], places[0])
    for k in range(len(fields)):
        source, frame_bytes, n_stacked = fields[k]
        for is_next in range(2):
            if n_stacked == 1:
                copy_rows(source, frame_bytes, targets[k, is_next], places[is_next])
                continue
            older = np.empty((n, n_stacked - 1), np.int64)
            ages = np.empty(n, np.int64)
            steps = last if is_next else index // n_envs
            _find_older(index, n_envs, n_rows, endings, steps, is_next, older, ages)
            copy_stacks(
                source, frame_bytes, n_stacked, targets[k, is_next], older, places[is_next], ages
            )
    return True


@njit(cache=True, nogil=True)
def name_places(places, n_envs, n_rows, head):
    """Turn places (B,) int64 into the names of what they hold, in place."""
    for b in range(len(places)):
        row, env = places[b] // n_envs, places[b] % n_envs
        places[b] = (head - 1 - (head - 1 - row) % n_rows) * n_envs + env
