"""Forward and backward pass of an MLP over a block of samples.

Numbers lie in flat float32 arrays; a `Network` says where. Activations are rows, one per sample, of
`padded` length. Layer l computes ``output = activation(input @ weight + bias)``, the last one
without activation.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gym_envs.numba_settings import FAST_MATH, njit
from utils.compiled.float32_math import ONE, ZERO, tanh32
from utils.compiled.tiles import aligned_zeros, multiply_add, padded, write_transpose

BLOCK = 64
"""Samples that are carried through a network at once: their activations stay in the cache."""


class Network(NamedTuple):
    """Widths of an MLP with L layers and where its numbers lie; plain values that numba reads."""

    widths: np.ndarray
    """(L + 1,) int64: of the input, of each hidden layer, of the output."""
    weight_at: np.ndarray
    """(L,) int64, in parameters and gradient; a weight is (in, padded(out))."""
    bias_at: np.ndarray
    """(L,) int64, in parameters and gradient."""
    transposed_at: np.ndarray
    """(L,) int64, in the array that `transpose_weights` writes; (out, padded(in)) each."""
    output_at: np.ndarray
    """(L,) int64, in the scratch memory; (BLOCK, padded(out)) each."""
    is_relu: bool
    """ReLU rather than tanh."""


class Scratch(NamedTuple):
    """Working memory of one network at a time, and where its parts begin."""

    memory: np.ndarray
    """Flat float32."""
    zeros_at: int
    """A row of zeros as long as the widest layer."""
    one_at: int
    """The number 1."""
    input_at: int
    """(BLOCK, widths[0]) without padding."""
    delta_at: int
    """(BLOCK, widest) gradient with respect to a layer's output, its rows as long as that's."""
    spare_at: int
    """(BLOCK, widest)"""


def plan_networks(
    widths_of_each: Sequence[Sequence[int]], *, is_relu: bool
) -> tuple[list[Network], Scratch, int, int]:
    """Lay out networks one after another, and scratch memory that they use in turn.

    Args:
        widths_of_each: Input, hidden and output widths of each network.
        is_relu: ReLU rather than tanh in the hidden layers.

    Returns:
        The networks, the scratch memory, and the numbers of floats that the parameters and the
        transposed weights of all networks take.
    """
    widest = max(padded(width) for widths in widths_of_each for width in widths)
    zeros_at, one_at = 0, widest
    input_at = one_at + padded(1)
    delta_at = input_at + BLOCK * widest
    spare_at = delta_at + BLOCK * widest
    outputs_at = spare_at + BLOCK * widest
    networks: list[Network] = []
    n_parameters = n_transposed = n_outputs = 0
    for widths in widths_of_each:
        places: list[tuple[int, int, int, int]] = []
        output_at = outputs_at
        for n_in, n_out in itertools.pairwise(widths):
            bias_at = n_parameters + n_in * padded(n_out)
            places.append((n_parameters, bias_at, n_transposed, output_at))
            n_parameters = bias_at + padded(n_out)
            n_transposed += n_out * padded(n_in)
            output_at += BLOCK * padded(n_out)
        n_outputs = max(n_outputs, output_at)
        columns = np.array(places, dtype=np.int64).T.copy()
        networks.append(Network(np.array(widths, dtype=np.int64), *columns, is_relu))
    memory = aligned_zeros(n_outputs)
    memory[one_at] = 1.0
    return (
        networks,
        Scratch(memory, zeros_at, one_at, input_at, delta_at, spare_at),
        n_parameters,
        n_transposed,
    )


@njit(cache=True)
def row_length(width):
    """Return the padded length of a row, as `padded`, in compiled code."""
    return (width + 15) // 16 * 16


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def transpose_weights(network, parameters, transposed):
    """Write the transposed weights that `backward` multiplies by; padding stays as it is."""
    for layer in range(1, network.weight_at.size):
        n_in, n_out = network.widths[layer], network.widths[layer + 1]
        write_transpose(
            transposed, network.transposed_at[layer], row_length(n_in),
            parameters, network.weight_at[layer], row_length(n_out), n_in, n_out,
        )  # fmt: skip


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _activate(x, is_relu):
    if is_relu:
        for i in range(x.size):
            x[i] = ZERO if x[i] < ZERO else x[i]  # NaN stays
    else:
        for i in range(x.size):
            x[i] = tanh32(x[i])


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def _pull_through_activation(gradient, output, is_relu):
    if is_relu:
        for i in range(output.size):
            gradient[i] = gradient[i] if output[i] > ZERO else ZERO
    else:
        for i in range(output.size):
            gradient[i] = gradient[i] * (ONE - output[i] * output[i])


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def forward(network, parameters, scratch, n_rows):
    """Carry the first `n_rows` rows of the scratch's input through all layers.

    Returns:
        Where the output lies in the scratch memory, (n_rows, padded(widths[-1])).
    """
    memory = scratch.memory
    at, stride = scratch.input_at, network.widths[0]
    n_layers = network.weight_at.size
    for layer in range(n_layers):
        to, length = network.output_at[layer], row_length(network.widths[layer + 1])
        multiply_add(
            memory, to, length,
            parameters, network.bias_at[layer], 0,
            memory, at, stride, 1,
            parameters, network.weight_at[layer], length,
            n_rows, length, network.widths[layer],
        )  # fmt: skip
        if layer < n_layers - 1:
            _activate(memory[to : to + n_rows * length], network.is_relu)
        at, stride = to, length
    return at


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def backward(network, transposed, gradient, scratch, n_rows):
    """Add the gradient of every parameter, after `forward`, given that of the output.

    Args:
        network: As in `forward`.
        transposed: From `transpose_weights`.
        gradient: Laid out like the parameters; is added to.
        scratch: Its delta holds the gradient with respect to the output,
            (n_rows, padded(widths[-1])) with zeros as padding; delta and spare are overwritten.
        n_rows: As in `forward`.
    """
    memory = scratch.memory
    delta, spare = scratch.delta_at, scratch.spare_at
    for layer in range(network.weight_at.size - 1, -1, -1):
        n_in, n_out = network.widths[layer], network.widths[layer + 1]
        length = row_length(n_out)
        at, stride = scratch.input_at, n_in
        if layer > 0:
            at, stride = network.output_at[layer - 1], row_length(n_in)
        weight_at, bias_at = network.weight_at[layer], network.bias_at[layer]
        multiply_add(
            gradient, weight_at, length,
            gradient, weight_at, length,
            memory, at, 1, stride,
            memory, delta, length,
            n_in, length, n_rows,
        )  # fmt: skip
        multiply_add(
            gradient, bias_at, length,
            gradient, bias_at, length,
            memory, scratch.one_at, 0, 0,
            memory, delta, length,
            1, length, n_rows,
        )  # fmt: skip
        if layer > 0:
            multiply_add(
                memory, spare, stride,
                memory, scratch.zeros_at, 0,
                memory, delta, length, 1,
                transposed, network.transposed_at[layer], stride,
                n_rows, stride, n_out,
            )  # fmt: skip
            size = n_rows * stride
            _pull_through_activation(
                memory[spare : spare + size], memory[at : at + size], network.is_relu
            )
            delta, spare = spare, delta
