# ruff: noqa: ARG001, PLR0913 - numba reads the arguments of an intrinsic by name; three matrices in
# flat memory have as many numbers as they have.
"""Products of small matrices, as fast as the processor multiplies.

A tile of the result stays in registers while a whole row of one factor and a whole column of the
other pass by. LLVM does not find that by itself in a loop nest, so the tile is written in its
intermediate language; everything around it is plain numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from gym_envs.numba_settings import FAST_MATH, HAS_AVX512, intrinsic, njit

PADDING = 16
"""Rows that a tile reads or writes are multiples of this many float32 long, filled with zeros."""

_LANES = 16 if HAS_AVX512 else 8
# The accumulators must fit the registers (32 of 16 lanes, else 16 of 8) with room for operands,
# and be at least eight vectors for the latency of the multiply-add to be hidden.
_WIDE_ROWS, _WIDE_COLUMNS = (4, 64) if HAS_AVX512 else (4, 16)
_NARROW_ROWS, _NARROW_COLUMNS = (8, 16) if HAS_AVX512 else (4, 16)

_VECTOR = ir.VectorType(ir.FloatType(), _LANES)
_INDEX = ir.IntType(64)
_FLOAT_BYTES = 4


def padded(width: int) -> int:
    """Return the length of a row that holds `width` numbers."""
    return -(-width // PADDING) * PADDING


def aligned_zeros(size: int, dtype: type[np.generic] = np.float32) -> np.ndarray:
    """Allocate a one-dimensional array whose first element begins a cache line."""
    item = np.dtype(dtype).itemsize
    raw = np.zeros(size + 64 // item, dtype=dtype)
    skipped = -raw.ctypes.data % 64 // item
    return raw[skipped : skipped + size]


class _Matrix:
    """A matrix in flat memory, while code is generated for it."""

    def __init__(self, builder: Any, data: ir.Value, at: ir.Value, stride: ir.Value) -> None:
        self._builder = builder
        self._data = data
        self._at = at
        self._stride = stride

    def moved(self, count: ir.Value, stride: ir.Value) -> _Matrix:
        """Return the matrix that begins `count` times `stride` later."""
        at = self._builder.add(self._at, self._builder.mul(count, stride))
        return _Matrix(self._builder, self._data, at, self._stride)

    def _address(self, row: ir.Value, column: int) -> ir.Value:
        begin = self._builder.add(self._at, self._builder.mul(self._stride, row))
        return self._builder.gep(self._data, [self._builder.add(begin, _INDEX(column))])

    def load_vector(self, row: ir.Value, vector: int) -> ir.Value:
        """Load some columns of a row."""
        pointer = self._address(row, vector * _LANES)
        loaded = self._builder.load(self._builder.bitcast(pointer, _VECTOR.as_pointer()))
        loaded.align = _FLOAT_BYTES
        return loaded

    def store_vector(self, numbers: ir.Value, row: int, vector: int) -> None:
        """Store some columns of a row."""
        pointer = self._address(_INDEX(row), vector * _LANES)
        stored = self._builder.store(numbers, self._builder.bitcast(pointer, _VECTOR.as_pointer()))
        stored.align = _FLOAT_BYTES

    def load_spread(self, row: int) -> ir.Value:
        """Load the first number of a row into every lane."""
        number = self._builder.load(self._address(_INDEX(row), 0))
        unset = ir.Constant(_VECTOR, ir.Undefined)
        single = self._builder.insert_element(unset, number, ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
        return self._builder.shuffle_vector(single, unset, everywhere)


def _add_products(
    builder: Any, sums: list[list[ir.Value]], left: _Matrix, right: _Matrix, row: ir.Value
) -> None:
    """Add one column of the left factor times one row of the right one."""
    multiply_add = cgutils.insert_pure_function(
        builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fma.v{_LANES}f32"
    )
    factors = [right.load_vector(row, vector) for vector in range(len(sums[0]))]
    for k, totals in enumerate(sums):
        number = left.load_spread(k)
        for factor, total in zip(factors, totals, strict=True):
            added = builder.call(multiply_add, [number, factor, builder.load(total)])
            builder.store(added, total)


def _build_tile(n_rows: int, n_columns: int) -> Callable[..., None]:
    """Build the intrinsic ``out = start + left @ right`` for one tile of the result.

    Its arguments are those of `multiply_add` without the numbers of rows and columns; each of the
    arrays is one-dimensional, followed by the position of the tile's first element and strides.
    """
    vectors = range(n_columns // _LANES)
    rows = range(n_rows)

    @intrinsic
    def tile(
        _context: Any,
        out: Any,
        out_at: Any,
        out_stride: Any,
        start: Any,
        start_at: Any,
        start_stride: Any,
        left: Any,
        left_at: Any,
        left_row: Any,
        left_column: Any,
        right: Any,
        right_at: Any,
        right_stride: Any,
        depth: Any,
    ) -> Any:
        index = types.intp
        signature = types.void(
            *(out, index, index),
            *(start, index, index),
            *(left, index, index, index),
            *(right, index, index),
            index,
        )
        return signature, generate

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def matrix(position: int) -> _Matrix:
            array = context.make_array(signature.args[position])(
                context, builder, arguments[position]
            )
            return _Matrix(builder, array.data, *arguments[position + 1 : position + 3])

        out, start, left = matrix(0), matrix(3), matrix(6)
        right = matrix(10)
        left_column, depth = arguments[9], arguments[13]
        sums = [[cgutils.alloca_once(builder, _VECTOR) for _ in vectors] for _ in rows]
        for row in rows:
            for vector in vectors:
                builder.store(start.load_vector(_INDEX(row), vector), sums[row][vector])
        with cgutils.for_range(builder, depth) as loop:
            _add_products(builder, sums, left.moved(loop.index, left_column), right, loop.index)
        for row in rows:
            for vector in vectors:
                out.store_vector(builder.load(sums[row][vector]), row, vector)
        return context.get_dummy_value()

    return tile


_wide_tile = _build_tile(_WIDE_ROWS, _WIDE_COLUMNS)
_wide_row = _build_tile(1, _WIDE_COLUMNS)
_narrow_tile = _build_tile(_NARROW_ROWS, _NARROW_COLUMNS)
_narrow_row = _build_tile(1, _NARROW_COLUMNS)


@intrinsic
def _transpose_tile(
    _context: Any,
    out: Any,
    out_at: Any,
    out_stride: Any,
    source: Any,
    source_at: Any,
    source_stride: Any,
) -> Any:
    """Write the transpose of a square of `_LANES` rows and columns.

    In a step for each distance 1, 2, 4, ... rows that far apart exchange half of their lanes.
    """
    index = types.intp
    signature = types.void(out, index, index, source, index, index)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def matrix(position: int) -> _Matrix:
            array = context.make_array(signature.args[position])(
                context, builder, arguments[position]
            )
            return _Matrix(builder, array.data, *arguments[position + 1 : position + 3])

        source, out = matrix(3), matrix(0)
        rows = [source.load_vector(_INDEX(row), 0) for row in range(_LANES)]
        lanes = range(_LANES)
        distance = 1
        while distance < _LANES:
            low = [k if not k & distance else k - distance + _LANES for k in lanes]
            high = [k + distance if not k & distance else k + _LANES for k in lanes]
            masks = [
                ir.Constant(ir.VectorType(ir.IntType(32), _LANES), mask) for mask in (low, high)
            ]
            for row in lanes:
                if not row & distance:
                    pair = rows[row], rows[row + distance]
                    rows[row], rows[row + distance] = (
                        builder.shuffle_vector(*pair, mask) for mask in masks
                    )
            distance *= 2
        for row in lanes:
            out.store_vector(rows[row], row, 0)
        return context.get_dummy_value()

    return signature, generate


@njit(cache=True, error_model="numpy")
def write_transpose(out, out_at, out_stride, source, source_at, source_stride, n_rows, n_columns):
    """Write the transpose of a matrix in flat float32 memory; see `multiply_add`.

    Args:
        out: (n_columns, n_rows) is written, and nothing beside it.
        out_at: Where it begins.
        out_stride: From one row to the next.
        source: (n_rows, n_columns).
        source_at: Where it begins.
        source_stride: From one row to the next.
        n_rows: Any number.
        n_columns: Any number.
    """
    whole_rows, whole_columns = n_rows // _LANES * _LANES, n_columns // _LANES * _LANES
    for i in range(0, whole_rows, _LANES):
        for j in range(0, whole_columns, _LANES):
            _transpose_tile(
                out, out_at + j * out_stride + i, out_stride,
                source, source_at + i * source_stride + j, source_stride,
            )  # fmt: skip
    for i in range(n_rows):
        for j in range(whole_columns if i < whole_rows else 0, n_columns):
            out[out_at + j * out_stride + i] = source[source_at + i * source_stride + j]


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def multiply_add(
    out, out_at, out_stride,
    start, start_at, start_stride,
    left, left_at, left_row, left_column,
    right, right_at, right_stride,
    n_rows, n_columns, depth,
):  # fmt: skip
    """Compute ``out = start + left @ right`` of matrices that lie in flat float32 arrays.

    Element (i, j) of `out`, `start` and `right` is at ``at + i * stride + j``; that of `left` at
    ``at + i * row + j * column``, so that a transposed matrix needs no copy. A stride of 0 repeats
    a row: a bias for `start`. `out` may be `start`.

    Args:
        out: (n_rows, n_columns) is written.
        out_at: Where it begins.
        out_stride: From one row to the next.
        start: (n_rows, n_columns), what is added to.
        start_at: Where it begins.
        start_stride: From one row to the next.
        left: (n_rows, depth).
        left_at: Where it begins.
        left_row: From one row to the next.
        left_column: From one column to the next.
        right: (depth, n_columns).
        right_at: Where it begins.
        right_stride: From one row to the next.
        n_rows: Any number.
        n_columns: A multiple of `PADDING`.
        depth: Any number.
    """
    column = 0
    while column + _WIDE_COLUMNS <= n_columns:
        row = 0
        while row + _WIDE_ROWS <= n_rows:
            _wide_tile(
                out, out_at + row * out_stride + column, out_stride,
                start, start_at + row * start_stride + column, start_stride,
                left, left_at + row * left_row, left_row, left_column,
                right, right_at + column, right_stride, depth,
            )  # fmt: skip
            row += _WIDE_ROWS
        while row < n_rows:
            _wide_row(
                out, out_at + row * out_stride + column, out_stride,
                start, start_at + row * start_stride + column, start_stride,
                left, left_at + row * left_row, left_row, left_column,
                right, right_at + column, right_stride, depth,
            )  # fmt: skip
            row += 1
        column += _WIDE_COLUMNS
    while column < n_columns:
        row = 0
        while row + _NARROW_ROWS <= n_rows:
            _narrow_tile(
                out, out_at + row * out_stride + column, out_stride,
                start, start_at + row * start_stride + column, start_stride,
                left, left_at + row * left_row, left_row, left_column,
                right, right_at + column, right_stride, depth,
            )  # fmt: skip
            row += _NARROW_ROWS
        while row < n_rows:
            _narrow_row(
                out, out_at + row * out_stride + column, out_stride,
                start, start_at + row * start_stride + column, start_stride,
                left, left_at + row * left_row, left_row, left_column,
                right, right_at + column, right_stride, depth,
            )  # fmt: skip
            row += 1
        column += _NARROW_COLUMNS
