"""The sine and cosine of the compiled environments against exact ones, densely."""

import numpy as np
import pytest

pytest.importorskip("numba")
from numba import njit

from gym_envs.simd import float_math
from gym_envs.simd.compilation import _compile_pattern


def evaluate(function, x):
    """Call the compiled function for every number, as the environments do."""
    compiled = _compile_pattern(function)

    @njit
    def run(x, y):
        for i in range(len(x)):
            y[i] = compiled(x[i])

    y = np.empty_like(x)
    run(x, y)
    return y


@pytest.mark.parametrize(
    ("name", "exact", "limit", "error"),
    [
        ("sin", np.sin, 100.0, 2e-7),
        ("cos", np.cos, 100.0, 2e-7),
        ("sin_small", np.sin, 0.25, 2e-8),
        ("cos_small", np.cos, 0.25, 7e-8),
    ],
)
def test_error_is_below_what_is_stated(name, exact, limit, error):
    x = np.linspace(-limit, limit, 2_000_001).astype(np.float32)
    y = evaluate(getattr(float_math, name), x)
    assert y.dtype == np.float32
    assert np.abs(y - exact(x.astype(np.float64))).max() < error


def test_the_stated_error_is_not_far_from_the_true_one():
    x = np.linspace(-100, 100, 200_001).astype(np.float32)
    assert np.abs(evaluate(float_math.sin, x) - np.sin(x.astype(np.float64))).max() > 2e-8


def test_rounding_down():
    x = np.array([-2.0, -1.5, -0.0, 0.5, 3.0], np.float32)
    assert evaluate(float_math.round_down, x).tolist() == [-2.0, -2.0, 0.0, 0.0, 3.0]
