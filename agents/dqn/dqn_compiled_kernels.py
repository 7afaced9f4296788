"""The compiled parts of DQN: choosing the best action, and many updates in one call.

The formulas are those of `dqn_losses`, written for a block of samples that lie side by side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gym_envs.numba_settings import FAST_MATH, njit
from utils.compiled.adam import adam_step, clip_scale
from utils.compiled.distributions import take_columns
from utils.compiled.float32_math import HALF, ONE, ZERO
from utils.compiled.network import BLOCK, backward, forward, row_length, transpose_weights

_F = np.float32


class Batches(NamedTuple):
    """The transitions of U updates of B each, one after another."""

    observation: np.ndarray
    """(U * B * n_in,) float32"""
    next_observation: np.ndarray
    action: np.ndarray
    """(U * B,) int64"""
    reward: np.ndarray
    """(U * B,) float32"""
    discount: np.ndarray
    weight: np.ndarray
    """(U * B,) float32 importance weights; empty for ones."""


class UpdateSettings(NamedTuple):
    """What an update depends on beside the transitions."""

    is_double: bool
    is_huber: bool
    tau: float
    """How far the target network moves after each update; 0: not at all."""


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _load_rows(rows, first, n_rows, width, scratch):
    memory, to, at = scratch.memory, scratch.input_at, first * width
    for i in range(n_rows * width):
        memory[to + i] = rows[at + i]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _values(network, parameters, scratch, columns):
    """Write the values of the rows in the scratch's input, (A, n_rows)."""
    at = forward(network, parameters, scratch, columns.shape[1])
    take_columns(scratch.memory, at, row_length(columns.shape[0]), columns)


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _write_best(columns, best):
    """Write the first action of the highest value for each column of (A, n_rows)."""
    for b in range(best.size):
        chosen = 0
        for a in range(1, columns.shape[0]):
            if columns[a, b] > columns[chosen, b]:
                chosen = a
        best[b] = chosen


@njit(cache=True, error_model="numpy")
def choose_best(network, parameters, scratch, rows, action):
    """Write the best action for each of N observations.

    Args:
        network: Layout of the Q-network.
        parameters: Flat.
        scratch: Working memory.
        rows: (N * n_in,) float32.
        action: (N,) int64, is written.
    """
    columns = np.empty((network.widths[-1], BLOCK), dtype=np.float32)
    width = network.widths[0]
    for first in range(0, action.size, BLOCK):
        n_rows = min(BLOCK, action.size - first)
        _load_rows(rows, first, n_rows, width, scratch)
        _values(network, parameters, scratch, columns[:, :n_rows])
        _write_best(columns[:, :n_rows], action[first : first + n_rows])


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _write_targets(network, flat, scratch, work, batches, first, settings):
    """Write the targets of a block of transitions that begins at `first`."""
    online, target = flat[0], flat[1]
    columns, selector, best, goal = work
    n_rows = goal.size
    _load_rows(batches.next_observation, first, n_rows, network.widths[0], scratch)
    _values(network, target, scratch, columns)
    if settings.is_double:
        _values(network, online, scratch, selector)
        _write_best(selector, best)
    else:
        _write_best(columns, best)
    for b in range(n_rows):
        value = columns[best[b], b]
        goal[b] = batches.reward[first + b] + batches.discount[first + b] * value


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _write_slopes(columns, batches, first, goal, scratch, settings, scale, errors):
    """Write the gradient of the mean loss by the values; return sums of loss, error and value."""
    memory, stride = scratch.memory, row_length(columns.shape[0])
    n_rows = goal.size
    at = scratch.delta_at
    memory[at : at + n_rows * stride] = ZERO
    total, size, mean = ZERO, ZERO, ZERO
    for b in range(n_rows):
        action = batches.action[first + b]
        value = columns[action, b]
        error = value - goal[b]
        weight = ONE if batches.weight.size == 0 else batches.weight[first + b]
        distance = abs(error)
        if settings.is_huber:
            is_small = distance < ONE
            loss = HALF * error * error if is_small else distance - HALF
            slope = error if is_small else (ONE if error > ZERO else -ONE)
            slope = error if error != error else slope  # NaN stays
        else:
            loss = error * error
            slope = error + error
        total += weight * loss
        size += distance
        mean += value
        errors[first + b] = distance
        memory[at + b * stride + action] = weight * slope * scale
    return total, size, mean


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _move_target(online, target, tau):
    weight = _F(tau)
    for i in range(target.size):
        target[i] += weight * (online[i] - target[i])


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _norm_of(gradient):
    total = ZERO
    for i in range(gradient.size):
        total += gradient[i] * gradient[i]
    return math.sqrt(total)


@njit(cache=True, error_model="numpy", nogil=True)
def run_compiled_updates(
    network, scratch, flat, batches, batch_size, settings, outcome, n_before
):  # fmt: skip
    """Take one optimiser step for each batch, in place.

    Args:
        network: Layout of the Q-network.
        scratch: Working memory.
        flat: Online and target parameters, two moments, gradient, transposed weights; flat each.
        batches: The transitions.
        batch_size: B.
        settings: `UpdateSettings` and `AdamSettings`.
        outcome: rows (U, 4) float64, are written: loss, mean value, mean error, norm of the
            gradient; errors (U * B,) float32, likewise.
        n_before: Steps that the optimiser has taken.
    """
    online, target, moment1, moment2, gradient, transposed = flat
    update_settings, adam_settings = settings
    rows, errors = outcome
    n_actions = network.widths[-1]
    columns = np.empty((n_actions, BLOCK), dtype=np.float32)
    selector = np.empty((n_actions, BLOCK), dtype=np.float32)
    best = np.empty(BLOCK, dtype=np.int64)
    goal = np.empty(BLOCK, dtype=np.float32)
    scale = _F(1.0 / batch_size)
    for u in range(rows.shape[0]):
        gradient[:] = ZERO
        transpose_weights(network, online, transposed)
        loss = error = value = 0.0
        for begin in range(0, batch_size, BLOCK):
            first, n_rows = u * batch_size + begin, min(BLOCK, batch_size - begin)
            block = columns[:, :n_rows]
            work = (block, selector[:, :n_rows], best[:n_rows], goal[:n_rows])
            _write_targets(network, flat, scratch, work, batches, first, update_settings)
            _load_rows(batches.observation, first, n_rows, network.widths[0], scratch)
            _values(network, online, scratch, block)
            sums = _write_slopes(
                block, batches, first, goal[:n_rows], scratch, update_settings, scale, errors
            )
            backward(network, transposed, gradient, scratch, n_rows)
            loss, error, value = loss + sums[0], error + sums[1], value + sums[2]
        norm = _norm_of(gradient)
        rows[u, 0] = loss / batch_size
        rows[u, 1] = value / batch_size
        rows[u, 2] = error / batch_size
        rows[u, 3] = norm
        clip = clip_scale(norm, adam_settings.max_grad_norm)
        adam_step(online, moment1, moment2, gradient, clip, n_before + u + 1, adam_settings)
        if update_settings.tau > 0:
            _move_target(online, target, update_settings.tau)
