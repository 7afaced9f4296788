"""Products of matrices in flat memory against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from utils.compiled.tiles import aligned_zeros, multiply_add, padded, write_transpose


@pytest.mark.parametrize("n_columns", [16, 32, 64, 80, 144])
@pytest.mark.parametrize(("n_rows", "depth"), [(1, 1), (3, 7), (4, 64), (8, 5), (13, 33), (64, 0)])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_products_of_all_shapes(n_rows, depth, n_columns, is_transposed):
    generator = np.random.default_rng(n_rows + depth + n_columns)
    left = generator.standard_normal((n_rows, depth)).astype(np.float32)
    right = generator.standard_normal((depth, n_columns)).astype(np.float32)
    bias = generator.standard_normal(n_columns).astype(np.float32)
    stored = np.ascontiguousarray(left.T if is_transposed else left).reshape(-1)
    row, column = (1, n_rows) if is_transposed else (depth, 1)
    stride, first = n_columns + 16, 3
    out = np.full(first + n_rows * stride + 5, 7.0, dtype=np.float32)
    multiply_add(
        out, first, stride, bias, 0, 0, stored, 0, row, column, right.reshape(-1), 0, n_columns,
        n_rows, n_columns, depth,
    )  # fmt: skip
    rows = out[first : first + n_rows * stride].reshape(n_rows, stride)
    expected = bias + left.astype(np.float64) @ right
    np.testing.assert_allclose(rows[:, :n_columns], expected, rtol=1e-5, atol=1e-5)
    assert (rows[:, n_columns:] == 7.0).all(), "it wrote beside the result"
    assert (out[:first] == 7.0).all()
    assert (out[first + n_rows * stride :] == 7.0).all()


def test_the_result_may_be_what_is_added_to():
    out = np.ones(2 * 16, dtype=np.float32)
    left = np.array([1.0, 2.0], dtype=np.float32)
    right = np.arange(16, dtype=np.float32)
    multiply_add(out, 0, 16, out, 0, 16, left, 0, 1, 1, right, 0, 16, 2, 16, 1)
    np.testing.assert_array_equal(out.reshape(2, 16), 1.0 + np.outer(left, right))


@pytest.mark.parametrize(("width", "length"), [(1, 16), (16, 16), (17, 32), (64, 64)])
def test_rows_are_whole_vectors(width, length):
    assert padded(width) == length


def test_memory_begins_at_a_cache_line():
    for size in (1, 5, 1000):
        array = aligned_zeros(size)
        assert array.ctypes.data % 64 == 0
        assert array.shape == (size,)
        assert not array.any()


@pytest.mark.parametrize("n_rows", [1, 15, 16, 40])
@pytest.mark.parametrize("n_columns", [1, 16, 37, 48])
def test_transposes_of_all_shapes(n_rows, n_columns):
    stride, out_stride = n_columns + 3, n_rows + 5
    source = np.arange(2 + n_rows * stride, dtype=np.float32)
    out = np.full(4 + n_columns * out_stride, -1.0, dtype=np.float32)
    write_transpose(out, 4, out_stride, source, 2, stride, n_rows, n_columns)
    rows = out[4:].reshape(n_columns, out_stride)
    expected = source[2:].reshape(n_rows, stride)[:, :n_columns].T
    np.testing.assert_array_equal(rows[:, :n_rows], expected)
    assert (rows[:, n_rows:] == -1.0).all(), "it wrote beside the result"
    assert (out[:4] == -1.0).all()
