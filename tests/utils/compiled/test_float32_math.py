"""The errors that the functions state, on millions of numbers, and what they do at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from gym_envs.numba_settings import FAST_MATH, njit
from utils.compiled.float32_math import exp32, log32, tanh32


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def map_exp(x, y):
    for i in range(x.size):
        y[i] = exp32(x[i])


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def map_log(x, y):
    for i in range(x.size):
        y[i] = log32(x[i])


@njit(cache=True, error_model="numpy", fastmath=FAST_MATH)
def map_tanh(x, y):
    for i in range(x.size):
        y[i] = tanh32(x[i])


def apply(function, x):
    x = np.asarray(x, dtype=np.float32)
    y = np.empty_like(x)
    function(x, y)
    return x.astype(np.float64), y.astype(np.float64)


def test_exp_is_within_its_error():
    x, y = apply(map_exp, np.linspace(-87.0, 88.0, 1_000_001))
    exact = np.exp(x)
    assert (np.abs(y - exact) / exact).max() < 1e-7


def test_log_is_within_its_error():
    x, y = apply(map_log, np.exp(np.linspace(-80.0, 80.0, 1_000_001)))
    exact = np.log(x)
    assert (np.abs(y - exact) / (1.0 + np.abs(exact))).max() < 1.2e-7


def test_tanh_is_within_its_error():
    x, y = apply(map_tanh, np.linspace(-12.0, 12.0, 1_000_001))
    exact = np.tanh(x)
    assert np.abs(y - exact).max() < 4e-7
    small, y = apply(map_tanh, np.geomspace(1e-30, 1.0, 100_001))
    exact = np.tanh(small)
    assert (np.abs(y - exact) / exact).max() < 4e-7


@pytest.mark.parametrize(
    ("function", "x", "y"),
    [
        (map_exp, [0.0, np.inf, 200.0, np.nan], [1.0, np.inf, np.inf, np.nan]),
        (map_log, [1.0, -1.0, 0.0, np.nan], [0.0, np.nan, np.nan, np.nan]),
        (map_tanh, [0.0, np.inf, -np.inf, np.nan], [0.0, 1.0, -1.0, np.nan]),
    ],
)
def test_edges(function, x, y):
    # Lengths from less than a vector to several: the rest of a loop is code of its own.
    for repeats in (1, 16):
        np.testing.assert_allclose(apply(function, x * repeats)[1], y * repeats, rtol=3e-7)


def test_exp_of_very_negative_numbers_is_next_to_nothing():
    assert 0.0 <= apply(map_exp, [-1000.0])[1][0] < 2e-38
