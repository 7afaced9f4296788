# ruff: noqa: ARG001 - numba reads the arguments of an intrinsic by name.
"""Compiled copying of rows and of stacked frames, as bytes between addresses."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types

from gym_envs.numba_settings import intrinsic, njit

_BYTE = ir.IntType(8)
READ_SOON = 16
"""Rows ahead of the one that is copied, that the processor is told to fetch."""
CACHE_LINE = 64


@intrinsic
def copy_bytes(_context, target, source, count):
    """Copy `count` bytes from one address to another."""

    def generate(_context, builder, _signature, arguments):
        to, origin = (builder.inttoptr(address, _BYTE.as_pointer()) for address in arguments[:2])
        cgutils.raw_memcpy(builder, to, origin, arguments[2], 1)

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def prefetch(_context, address):
    """Tell the processor that a cache line will be read."""

    def generate(_context, builder, _signature, arguments):
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, number(0), number(3), number(1)])

    return types.void(types.int64), generate


@njit(cache=True, nogil=True)
def copy_rows(source, row_bytes, target, places):
    """Copy the rows `places` (B,) behind an address to the rows 0 to B - 1 behind another."""
    n = len(places)
    for b in range(n):
        if b + READ_SOON < n:
            ahead = source + places[b + READ_SOON] * row_bytes
            for offset in range(0, min(row_bytes, 4 * CACHE_LINE), CACHE_LINE):
                prefetch(ahead + offset)
        copy_bytes(target + b * row_bytes, source + places[b] * row_bytes, row_bytes)


@njit(cache=True, nogil=True)
def copy_stacks(source, frame_bytes, n_stacked, target, older, places, ages):
    """Copy stacks of frames, oldest first; where frames are missing the oldest is repeated.

    Args:
        source: Address of the frames.
        frame_bytes: Bytes of one.
        n_stacked: Frames in a stack (S).
        target: Address of (B, S) frames.
        older: (B, S - 1) int64, where the frames before the newest lie, the latest first.
        places: (B,) int64, where the newest frames lie.
        ages: (B,) int64, how many of the older frames there are.
    """
    for b in range(len(places)):
        begin = target + b * n_stacked * frame_bytes
        for i in range(n_stacked):
            back = min(n_stacked - 1 - i, ages[b])
            place = places[b] if back == 0 else older[b, back - 1]
            copy_bytes(begin + i * frame_bytes, source + place * frame_bytes, frame_bytes)


@njit(cache=True, nogil=True)
def scatter_rows(source, row_bytes, target, places):
    """Copy rows 0 to B - 1 behind an address to the rows `places` (B,) behind another.

    Places below 0 are passed over; of two rows for one place the later stays.
    """
    for b in range(len(places)):
        if places[b] >= 0:
            copy_bytes(target + places[b] * row_bytes, source + b * row_bytes, row_bytes)
