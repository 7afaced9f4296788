"""Tuples of numbers to and from arrays, one function for each length.

numba compiles tuples of any one length away; only their lengths must be known beforehand. `rows`
are one-dimensional arrays, one for each variable; `table` is a flat (N * length,) array in which
the numbers of one environment are neighbours.
"""

from __future__ import annotations


def rows_2(array, start, stop):
    """Return both rows of `array` (2, N) from `start` to `stop`."""
    return array[0][start:stop], array[1][start:stop]


def rows_3(array, start, stop):
    """Return the three rows of `array` (3, N) from `start` to `stop`."""
    return array[0][start:stop], array[1][start:stop], array[2][start:stop]


def rows_4(array, start, stop):
    """Return the four rows of `array` (4, N) from `start` to `stop`."""
    return (
        array[0][start:stop],
        array[1][start:stop],
        array[2][start:stop],
        array[3][start:stop],
    )


def rows_6(array, start, stop):
    """Return the six rows of `array` (6, N) from `start` to `stop`."""
    return (
        array[0][start:stop],
        array[1][start:stop],
        array[2][start:stop],
        array[3][start:stop],
        array[4][start:stop],
        array[5][start:stop],
    )


def load_2(rows, i):
    """Return number i of each of two rows."""
    return rows[0][i], rows[1][i]


def load_4(rows, i):
    """Return number i of each of four rows."""
    return rows[0][i], rows[1][i], rows[2][i], rows[3][i]


def store_2(rows, i, values):
    """Write number i of each of two rows."""
    rows[0][i] = values[0]
    rows[1][i] = values[1]


def store_3(rows, i, values):
    """Write number i of each of three rows."""
    rows[0][i] = values[0]
    rows[1][i] = values[1]
    rows[2][i] = values[2]


def store_4(rows, i, values):
    """Write number i of each of four rows."""
    rows[0][i] = values[0]
    rows[1][i] = values[1]
    rows[2][i] = values[2]
    rows[3][i] = values[3]


def store_6(rows, i, values):
    """Write number i of each of six rows."""
    rows[0][i] = values[0]
    rows[1][i] = values[1]
    rows[2][i] = values[2]
    rows[3][i] = values[3]
    rows[4][i] = values[4]
    rows[5][i] = values[5]


def write_2(table, i, values):
    """Write the two numbers of environment i."""
    table[2 * i] = values[0]
    table[2 * i + 1] = values[1]


def write_3(table, i, values):
    """Write the three numbers of environment i."""
    table[3 * i] = values[0]
    table[3 * i + 1] = values[1]
    table[3 * i + 2] = values[2]


def write_4(table, i, values):
    """Write the four numbers of environment i."""
    table[4 * i] = values[0]
    table[4 * i + 1] = values[1]
    table[4 * i + 2] = values[2]
    table[4 * i + 3] = values[3]


def write_6(table, i, values):
    """Write the six numbers of environment i."""
    table[6 * i] = values[0]
    table[6 * i + 1] = values[1]
    table[6 * i + 2] = values[2]
    table[6 * i + 3] = values[3]
    table[6 * i + 4] = values[4]
    table[6 * i + 5] = values[5]


def select_2(condition, if_true, if_false):
    """Return one of two pairs, without a branch."""
    return (
        if_true[0] if condition else if_false[0],
        if_true[1] if condition else if_false[1],
    )


def select_4(condition, if_true, if_false):
    """Return one of two tuples of four, without a branch."""
    return (
        if_true[0] if condition else if_false[0],
        if_true[1] if condition else if_false[1],
        if_true[2] if condition else if_false[2],
        if_true[3] if condition else if_false[3],
    )
