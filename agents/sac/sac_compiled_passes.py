"""Passes of several critics over a block of samples: their values, and the slope of the lowest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gym_envs.numba_settings import FAST_MATH, njit
from utils.compiled.float32_math import ONE, ZERO
from utils.compiled.network import Network, Scratch, forward, row_length
from utils.compiled.tiles import multiply_add


class Critics(NamedTuple):
    """E critics and their targets: networks of one shape, each in its row of all memory."""

    network: Network
    parameters: np.ndarray
    """(E, ...)"""
    target: np.ndarray
    """(E, ...)"""
    transposed: np.ndarray
    """(E, ...)"""
    scratch: Scratch
    """Where the parts of working memory begin."""
    scratches: np.ndarray
    """(E, ...) working memory; keeps inputs and activations of each."""


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def scratch_of(critics, e):
    """Return the working memory of critic e."""
    plan = critics.scratch
    return Scratch(
        critics.scratches[e], plan.zeros_at, plan.one_at, plan.input_at, plan.delta_at,
        plan.spare_at,
    )  # fmt: skip


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def value_block(critics, parameters, rows, action, value):
    """Write what each critic says of some actions.

    Args:
        critics: Their working memory keeps inputs and activations.
        parameters: (E, ...) of the critics or of their targets.
        rows: Observations, flat; the first row; their width F.
        action: (A, n_rows)
        value: (E, BLOCK) is written.
    """
    observation, first, width = rows
    n_dimensions, n_rows = action.shape
    length, stride = width + n_dimensions, row_length(1)
    for e in range(parameters.shape[0]):
        scratch = scratch_of(critics, e)
        memory, begin = scratch.memory, scratch.input_at
        for b in range(n_rows):
            to, source = begin + b * length, (first + b) * width
            for i in range(width):
                memory[to + i] = observation[source + i]
            for k in range(n_dimensions):
                memory[to + width + k] = action[k, b]
        at = forward(critics.network, parameters[e], scratch, n_rows)
        for b in range(n_rows):
            value[e, b] = memory[at + b * stride]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def lowest_value(value, b):
    """Return the lowest value of sample b and whose it is."""
    lowest, critic = value[0, b], 0
    for e in range(1, value.shape[0]):
        if value[e, b] < lowest:
            lowest, critic = value[e, b], e
    return lowest, critic


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def climb(critics, width, chosen, slope):
    """Write how each sample's chosen critic rises with the action, after `value_block`.

    Rows of one critic are brought together, so that each passes back through one critic alone.

    Args:
        critics: `transposed` is up to date.
        width: F, the inputs before the action.
        chosen: (n_rows,) int64, whose value is the lowest.
        slope: (A, BLOCK) is written.
    """
    own = np.empty(chosen.size, dtype=np.int64)
    for e in range(critics.parameters.shape[0]):
        n_own = 0
        for b in range(chosen.size):
            if chosen[b] == e:
                own[n_own] = b
                n_own += 1
        if n_own:
            _pass_back(critics, e, own[:n_own], width, slope)


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _pass_back(critics, e, own, width, slope):
    """Write the slopes of some rows through critic e."""
    network, scratch = critics.network, scratch_of(critics, e)
    memory, transposed, n_rows = scratch.memory, critics.transposed[e], own.size
    delta, spare = scratch.delta_at, scratch.spare_at
    length = row_length(1)
    for b in range(n_rows):
        memory[delta + b * length] = ONE
    for layer in range(network.weight_at.size - 1, 0, -1):
        n_out, below = network.widths[layer + 1], row_length(network.widths[layer])
        multiply_add(
            memory, spare, below,
            memory, scratch.zeros_at, 0,
            memory, delta, length, 1,
            transposed, network.transposed_at[layer], below,
            n_rows, below, n_out,
        )  # fmt: skip
        output = network.output_at[layer - 1]
        for k in range(n_rows):
            at, of = spare + k * below, output + own[k] * below
            _pull(memory[at : at + below], memory[of : of + below], network.is_relu)
        delta, spare, length = spare, delta, below
    n_out = network.widths[1]
    for a in range(slope.shape[0]):
        begin = network.weight_at[0] + (width + a) * row_length(n_out)
        weight = critics.parameters[e, begin : begin + n_out]
        for k in range(n_rows):
            at, total = delta + k * length, ZERO
            row = memory[at : at + n_out]
            for j in range(n_out):
                total += row[j] * weight[j]
            slope[a, own[k]] = total


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _pull(gradient, output, is_relu):
    if is_relu:
        for i in range(output.size):
            gradient[i] = gradient[i] if output[i] > ZERO else ZERO
    else:
        for i in range(output.size):
            gradient[i] = gradient[i] * (ONE - output[i] * output[i])
