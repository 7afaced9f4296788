# ruff: noqa: ARG001 - numba reads the arguments of an intrinsic by name.
"""Between torch's parameters and the flat, padded arrays that the kernels work on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from torch import nn

from gym_envs.numba_settings import intrinsic, njit
from utils.compiled.network import Network
from utils.compiled.tiles import padded
from utils.models import NormalHead
from utils.policy_factory import ActorCritic


class Segment(NamedTuple):
    """A matrix inside a parameter's memory and its place in the flat array; counted in floats."""

    parameter: int
    """Index among the parameters."""
    start: int
    """Where in the parameter it begins."""
    n_rows: int
    n_columns: int
    row_stride: int
    """In the parameter's memory."""
    column_stride: int
    packed_at: int
    packed_stride: int
    """From row to row in the flat array; the columns lie side by side, then padding."""


def plan_segments(
    policy: ActorCritic, networks: tuple[Network, Network], parameters: list[nn.Parameter]
) -> np.ndarray:
    """Say where each part of each parameter of a policy with twin trunks goes.

    Args:
        policy: With `TwinTrunks` and linear heads.
        networks: Actor and critic, laid out one after another from 0; a `log_std` follows them.
        parameters: All parameters of the policy, in the order that indices count in.

    Returns:
        (n_segments, 8) int64, rows are `Segment`s in the order of the parameters.
    """
    index = {id(parameter): k for k, parameter in enumerate(parameters)}
    head = policy.actor_head
    is_normal = isinstance(head, NormalHead)
    heads = (head.mean if is_normal else head, policy.critic_head)
    segments: list[Segment] = []
    for twin, (network, linear) in enumerate(zip(networks, heads, strict=True)):
        layers = zip(policy.trunk.weights, policy.trunk.biases, strict=True)
        for layer, (weight, bias) in enumerate(layers):
            _, n_in, n_out = weight.shape
            length = padded(n_out)
            segments += [
                Segment(
                    *(index[id(weight)], twin * n_in * n_out, n_in, n_out, n_out, 1),
                    *(int(network.weight_at[layer]), length),
                ),
                Segment(
                    *(index[id(bias)], twin * n_out, 1, n_out, n_out, 1),
                    *(int(network.bias_at[layer]), length),
                ),
            ]
        n_out, n_in = linear.weight.shape
        length = padded(n_out)
        weight_at, bias_at = int(network.weight_at[-1]), int(network.bias_at[-1])
        segments += [
            Segment(index[id(linear.weight)], 0, n_in, n_out, 1, n_in, weight_at, length),
            Segment(index[id(linear.bias)], 0, 1, n_out, n_out, 1, bias_at, length),
        ]
    if is_normal:
        n = head.log_std.numel()
        segments.append(
            Segment(index[id(head.log_std)], 0, 1, n, n, 1, log_std_position(networks), padded(n))
        )
    assert {segment.parameter for segment in segments} == set(range(len(parameters))), segments
    return np.array(sorted(segments), dtype=np.int64)


def log_std_position(networks: tuple[Network, Network]) -> int:
    """Return where a `log_std` lies in the flat array: behind both networks."""
    last = networks[1]
    return int(last.bias_at[-1]) + padded(int(last.widths[-1]))


def _float_pointer(builder: Any, address: Any, index: Any) -> Any:
    pointer = builder.inttoptr(address, ir.FloatType().as_pointer())
    return builder.gep(pointer, [index])


@intrinsic
def read_float(_context, address, index):
    """Return the float32 at `index` behind a memory address."""

    def generate(_target_context, builder, _signature, arguments):
        return builder.load(_float_pointer(builder, *arguments))

    return types.float32(types.int64, types.int64), generate


@intrinsic
def write_float(_context, address, index, number):
    """Write a float32 at `index` behind a memory address."""

    def generate(context, builder, _signature, arguments):
        builder.store(arguments[2], _float_pointer(builder, *arguments[:2]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.float32), generate


@njit(cache=True)
def pack(segments, addresses, packed):
    """Copy parameters into the flat array.

    Args:
        segments: From `plan_segments`.
        addresses: (n_parameters,) int64, of the first float of each parameter.
        packed: Flat float32; its padding is not touched.
    """
    for k in range(segments.shape[0]):
        parameter, start, n_rows, n_columns, row_stride, column_stride, to, length = segments[k]
        for i in range(n_rows):
            for j in range(n_columns):
                packed[to + i * length + j] = read_float(
                    addresses[parameter], start + i * row_stride + j * column_stride
                )


@njit(cache=True)
def unpack(segments, addresses, packed):
    """Copy the flat array back into parameters; the opposite of `pack`."""
    for k in range(segments.shape[0]):
        parameter, start, n_rows, n_columns, row_stride, column_stride, at, length = segments[k]
        for i in range(n_rows):
            for j in range(n_columns):
                write_float(
                    addresses[parameter],
                    start + i * row_stride + j * column_stride,
                    packed[at + i * length + j],
                )
