"""Elementary functions of float32 that LLVM turns into vector instructions.

Those of the C library take one number at a time. These are branch-free arithmetic, NaN in gives
NaN out, and their errors are stated and tested.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from gym_envs.numba_settings import intrinsic, njit

# No reordering: the order is what the stated errors rest on.
_IN_ORDER = {"contract", "nsz", "arcp"}

_f = np.float32
_i = np.int32

ZERO, HALF, ONE, TWO, NAN = _f(0.0), _f(0.5), _f(1.0), _f(2.0), _f(np.nan)

_LOG2_E = _f(1.4426950408889634)
# ln 2 in two parts; the first has so few digits that its multiples up to 128 are exact.
_LN2_HIGH = _f(0.693359375)
_LN2_LOW = _f(-2.12194440054690583e-4)
_EXP_MOST, _EXP_LEAST = _f(89.0), _f(-87.3)
_E2, _E3, _E4, _E5, _E6, _E7 = (_f(1 / n) for n in (2, 6, 24, 120, 720, 5040))

_SQRT2 = _f(1.4142135623730951)
_L3, _L5, _L7, _L9 = _f(2 / 3), _f(2 / 5), _f(2 / 7), _f(2 / 9)
_MANTISSA, _ONE_BITS = _i(0x007FFFFF), _i(0x3F800000)

_QUARTER, _TWO_PI = _f(0.25), _f(2.0 * math.pi)
_S3, _S5, _S7, _S9, _S11 = (_f(1 / math.factorial(n)) for n in (3, 5, 7, 9, 11))

# tanh(x) = x P(x^2) / Q(x^2) on [-9, 9]: minimax in the relative error, 6e-8 before rounding.
_TANH_MOST = _f(9.0)
_P0, _P1, _P2 = _f(0.9999999403953552), _f(0.12919223308563232), _f(0.002920756349340081)
_P3, _P4, _P5 = _f(9.267375389754307e-06), _f(-1.2780325242545132e-08), _f(1.825500341168240e-11)
_Q1, _Q2, _Q3 = _f(0.46252506971359253), _f(0.0237631443887949), _f(0.00022809946676716208)


def _build_bit_cast(source: types.Type, target: types.Type, ir_target: ir.Type) -> Any:
    @intrinsic
    def bit_cast(_context: Any, _number: Any) -> Any:
        def generate(_target_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir_target)

        return target(source), generate

    return bit_cast


float_of_bits = _build_bit_cast(types.int32, types.float32, ir.FloatType())
bits_of_float = _build_bit_cast(types.float32, types.int32, ir.IntType(32))


@njit(cache=True, error_model="numpy", fastmath=_IN_ORDER)
def exp32(x):
    """Compute e^x with a relative error below 1e-7 for -87 <= x <= 88.

    Beyond 88.4 it is infinite, below -87.3 it stays at 1e-38.
    """
    x = _EXP_MOST if x > _EXP_MOST else x
    x = _EXP_LEAST if x < _EXP_LEAST else x
    power = np.floor(x * _LOG2_E + HALF)
    r = (x - power * _LN2_HIGH) - power * _LN2_LOW
    series = _E7
    series = series * r + _E6
    series = series * r + _E5
    series = series * r + _E4
    series = series * r + _E3
    series = series * r + _E2
    series = series * r + ONE
    series = series * r + ONE
    return series * float_of_bits(_i(_i(_i(power) + _i(127)) << _i(23)))


@njit(cache=True, error_model="numpy", fastmath=_IN_ORDER)
def log32(x):
    """Compute the natural logarithm of a normal x > 0 with an error below 1.2e-7 (1 + |log x|).

    ``x = m 2^k`` with m around 1, and ``log m = 2 artanh((m - 1) / (m + 1))``.
    """
    bits = bits_of_float(x)
    power = _f(_i(_i(bits >> _i(23)) - _i(127)))
    m = float_of_bits(_i(_i(bits & _MANTISSA) | _ONE_BITS))
    is_large = m > _SQRT2
    m = m * HALF if is_large else m
    power = power + ONE if is_large else power
    s = (m - ONE) / (m + ONE)
    square = s * s
    series = _L9
    series = series * square + _L7
    series = series * square + _L5
    series = series * square + _L3
    series = series * square + TWO
    value = power * _LN2_HIGH + (power * _LN2_LOW + s * series)
    return value if x > ZERO else NAN  # of NaN, too


@njit(cache=True, error_model="numpy", fastmath=_IN_ORDER)
def tanh32(x):
    """Compute the hyperbolic tangent with an error below 4e-7, relative and absolute."""
    x = _TANH_MOST if x > _TANH_MOST else x
    x = -_TANH_MOST if x < -_TANH_MOST else x
    square = x * x
    numerator = _P5
    numerator = numerator * square + _P4
    numerator = numerator * square + _P3
    numerator = numerator * square + _P2
    numerator = numerator * square + _P1
    numerator = numerator * square + _P0
    denominator = _Q3
    denominator = denominator * square + _Q2
    denominator = denominator * square + _Q1
    denominator = denominator * square + ONE
    return x * numerator / denominator


@njit(cache=True, error_model="numpy", fastmath=_IN_ORDER)
def cos_of_turns32(turns):
    """Compute cos(2 pi turns) for 0 <= turns <= 1 with an error below 3e-7.

    It is ``sin(2 pi (|turns - 1/2| - 1/4))``, a sine between -pi/2 and pi/2.
    """
    x = (abs(turns - HALF) - _QUARTER) * _TWO_PI
    square = x * x
    series = -_S11
    series = series * square + _S9
    series = series * square - _S7
    series = series * square + _S5
    series = series * square - _S3
    series = series * square + ONE
    return x * series
