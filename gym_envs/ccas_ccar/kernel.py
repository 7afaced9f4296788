"""Gillespie's direct method, compiled: one control step of every cell in one call.

The random numbers of a cell are words of `gym_envs.simd.random_words`: a hash of its counter and
its key, so they depend neither on other cells nor on threads. A reaction takes one count: the
first word gives the time until it, the following word which one it is.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from gym_envs.ccas_ccar.task import LEVEL_SCALE, MAX_REACTIONS, STEP_MINUTES
from gym_envs.numba_settings import njit
from gym_envs.simd import random_words

# Strict arithmetic: a cell's numbers do not depend on which part of the cells it falls to.
_OPTIONS = {"error_model": "numpy", "fastmath": False}
_hash_words = njit(**_OPTIONS)(random_words.hash_words)
_following_word = njit(**_OPTIONS)(random_words.following_word)

_COUNTER_STEP = random_words.COUNTER_STEP
_UNIT = 2.0**-32
_TWO_PI = 2.0 * math.pi
H_HALF, F_HALF = 3, 5
"""Rows of the kinetics that the kernel holds as logarithms."""
TABLE_SIZE = 2048
"""Numbers of molecules whose logarithms and propensities are kept in tables."""
_BLOCK = 64  # cells whose flags fill a cache line; threads never share one


@njit(**_OPTIONS)
def unit_of_word(word):
    """Return a number in (0, 1): the middle of the word's share of the interval."""
    return (np.float64(word) + 0.5) * _UNIT


@njit(**_OPTIONS)
def hill(count, log_half, exponent, logs):
    """Return count^n / (half^n + count^n) = 1 / (1 + exp(n (ln half - ln count))); 0 at 0."""
    log_count = logs[count] if count < TABLE_SIZE else math.log(count)
    return 1.0 / (1.0 + math.exp(exponent * (log_half - log_count)))


@njit(**_OPTIONS)
def produce(h, f, cell, tables, is_shared):
    """Return the propensity of F + 1 per minute; from `tables` where all cells are the same."""
    if is_shared and h < TABLE_SIZE and f < TABLE_SIZE:
        return tables[1, h] + tables[2, f]
    by_h = hill(h, cell[H_HALF], cell[4], tables[0])
    by_f = hill(f, cell[F_HALF], cell[6], tables[0])
    return 0.5 * cell[2] * by_h + 0.5 * cell[2] * by_f


@njit(**_OPTIONS)
def simulate(h, f, light, cell, tables, is_shared, counter, key):
    """Let one control step of reactions happen in one cell.

    Args:
        h: Molecules of CcaS-CcaR, >= 0.
        f: Molecules of GFP, >= 0.
        light: 0 for red, 1 for green.
        cell: (7,) float64, its kinetics, with logarithms in place of the two half-levels.
        tables: (3, TABLE_SIZE) float64: ln n, and the production of F by n molecules of H and of F.
        is_shared: Whether those productions hold for this cell.
        counter: Of its random words.
        key: Of its random words.

    Returns:
        h, f and counter after the step.
    """
    birth, dilution = cell[0] * light, cell[1]
    left = STEP_MINUTES
    for _ in range(MAX_REACTIONS):
        until_h = birth + dilution * h
        until_f = until_h + produce(h, f, cell, tables, is_shared)
        total = until_f + dilution * f
        first = _hash_words(counter, key)
        second = _following_word(first, key)
        counter = np.uint32(counter + _COUNTER_STEP)
        left += math.log(unit_of_word(first)) / total
        if not left > 0.0:  # -inf where nothing can happen: an empty cell in red light
            break
        # Without branches, which the processor could not foresee.
        chosen = unit_of_word(second) * total
        is_birth = chosen < birth
        is_h = chosen < until_h
        is_made = chosen < until_f
        h += np.int64(is_birth) - np.int64(is_h & (not is_birth))
        f += np.int64(is_made & (not is_h)) - np.int64(not is_made)
    return h, f, counter


@njit(**_OPTIONS)
def draw_kinetics(cell, nominal, sigma, counter, key):
    """Write kinetics (7,) that are log-normal around the nominal ones; return the counter.

    Each takes one count: two words make a normal number (Box and Muller 1958).
    """
    for j in range(len(nominal)):
        factor = 1.0
        if sigma > 0.0:
            first = _hash_words(counter, key)
            second = _following_word(first, key)
            counter = np.uint32(counter + _COUNTER_STEP)
            radius = math.sqrt(-2.0 * math.log(unit_of_word(first)))
            factor = math.exp(sigma * radius * math.cos(_TWO_PI * unit_of_word(second)))
        value = nominal[j] * factor
        cell[j] = math.log(value) if j in (H_HALF, F_HALF) else value
    return counter


@njit(**_OPTIONS)
def write_frame(row, start, f, step, targets, n_horizon):
    """Write one observation at `start`: F, then the target now and `n_horizon` steps ahead."""
    row[start] = f / LEVEL_SCALE
    for k in range(n_horizon + 1):
        row[start + 1 + k] = targets[(step + k) % len(targets)] / LEVEL_SCALE


@njit(**_OPTIONS)
def begin_cell(  # noqa: PLR0913 - the arrays of `Cells`
    i, observation, count, length, error, kinetics, random, targets, n_horizon, law
):
    """Begin a new episode in cell i; `law` is (8,) float64: the nominal kinetics and sigma."""
    count[0, i] = 0
    count[1, i] = 0
    length[i] = 0
    error[i] = 0.0
    random[0, i] = draw_kinetics(kinetics[i], law[:-1], law[-1], random[0, i], random[1, i])
    row = observation[i]
    for start in range(0, len(row), n_horizon + 2):
        write_frame(row, start, 0, 0, targets, n_horizon)


@njit(cache=True, **_OPTIONS)
def begin_masked(  # noqa: PLR0913 - the arrays of `Cells`
    mask, observation, count, length, error, kinetics, random, targets, n_horizon, law
):
    """Begin a new episode in every cell where the mask (N,) bool is true."""
    for i in range(len(mask)):
        if mask[i]:
            begin_cell(
                i, observation, count, length, error, kinetics, random, targets, n_horizon, law
            )


@njit(**_OPTIONS)
def step_part(  # noqa: PLR0913 - the arrays of `Cells` and of its outputs
    begin,
    end,
    light,
    before,
    observation,
    reward,
    truncated,
    final_observation,
    level,
    shown_target,
    mean_error,
    count,
    length,
    error,
    kinetics,
    random,
    tables,
    targets,
    n_horizon,
    law,
    max_length,
):
    """Step the cells from `begin` to `end`; see `Cells` for the arrays. Say whether one ended."""
    has_ended = False
    width = n_horizon + 2
    is_shared = law[-1] == 0.0
    for i in range(begin, end):
        h, f, counter = simulate(
            count[0, i],
            count[1, i],
            light[i],
            kinetics[i],
            tables,
            is_shared,
            random[0, i],
            random[1, i],
        )
        target = targets[length[i] % len(targets)]
        deviation = abs(f - target)
        count[0, i], count[1, i], random[0, i] = h, f, counter
        level[0, i], level[1, i], shown_target[i] = h, f, target
        reward[i] = -deviation
        error[i] += deviation
        length[i] += 1
        is_over = length[i] >= max_length
        row = final_observation[i] if is_over else observation[i]
        kept = len(row) - width
        row[:kept] = before[i, width:]
        write_frame(row, kept, f, length[i], targets, n_horizon)
        truncated[i] = is_over
        mean_error[i] = error[i] / length[i]
        if is_over:
            has_ended = True
            begin_cell(
                i, observation, count, length, error, kinetics, random, targets, n_horizon, law
            )
    return has_ended


@njit(cache=True, **_OPTIONS)
def step_cells(*arrays):
    """Step every cell; the arguments are those of `step_part` from `light` on."""
    return step_part(0, len(arrays[0]), *arrays)


@njit(cache=True, parallel=True, **_OPTIONS)
def step_cells_with_threads(n_threads, *arrays):
    """Do what `step_cells` does, each thread with a part of the cells."""
    n_cells = len(arrays[0])
    n_blocks = (n_cells + _BLOCK - 1) // _BLOCK
    has_ended = np.zeros(n_threads, np.bool_)
    for k in prange(n_threads):
        begin = n_blocks * k // n_threads * _BLOCK
        end = min(n_blocks * (k + 1) // n_threads * _BLOCK, n_cells)
        if begin < end:
            has_ended[k] = step_part(begin, end, *arrays)
    return has_ended.any()
