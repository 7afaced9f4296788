"""Mathematics of float32 without branches, that LLVM turns into vector instructions.

Each function is plain Python on `numpy.float32` numbers; `compilation` compiles them. The errors
given are the largest absolute ones against exact arithmetic, rounding included.
"""

from __future__ import annotations

import numpy as np

_ONE = np.float32(1.0)
_TWO = np.float32(2.0)
_HALF = np.float32(0.5)
_INVERSE_PI = np.float32(1.0 / np.pi)
# pi in two parts: multiples up to 2**11 of the first have no rounding error.
_PI_HIGH = np.float32(3.140625)
_PI_LOW = np.float32(np.pi - 3.140625)

# Coefficients that make the largest absolute error smallest, of sin(r) = r + r z (c3 + c5 z + ...)
# with z = r * r on [-pi/2, pi/2] ...
_S3 = np.float32(-0.16666657092712986)
_S5 = np.float32(0.008333017197935551)
_S7 = np.float32(-0.00019806608389451742)
_S9 = np.float32(2.600039607261219e-06)
# ... and on [-0.25, 0.25], where fewer will do.
_SMALL_S3 = np.float32(-0.16666626820272343)
_SMALL_S5 = np.float32(0.008314891451150849)
_SMALL_C4 = np.float32(0.04166661078180451)
_SMALL_C6 = np.float32(-0.0013864750131938781)


def where(condition, if_true, if_false):
    """Return `if_true` where the condition holds, else `if_false`; both are evaluated."""
    return if_true if condition else if_false


def clip(x, low, high):
    """Return x limited to [low, high]; NaN stays NaN."""
    x = low if x < low else x
    return high if x > high else x


def round_down(x):
    """Return the largest whole number that is not above x, as float32."""
    return np.floor(x)


def _half_turns_sign(k):
    """Return -1 for odd whole k, else 1."""
    return _ONE - _TWO * (k - _TWO * np.floor(_HALF * k))


def _sin_of_reduced(r):
    z = r * r
    return r + r * z * (_S3 + z * (_S5 + z * (_S7 + z * _S9)))


def sin(x):
    """Return the sine; error below 2e-7 for |x| <= 100."""
    k = np.rint(x * _INVERSE_PI)
    return _half_turns_sign(k) * _sin_of_reduced(x - k * _PI_HIGH - k * _PI_LOW)


def cos(x):
    """Return the cosine; error below 2e-7 for |x| <= 100."""
    # cos(x) = sin(x + pi/2), with x reduced by odd multiples of pi/2 in the two parts of pi.
    k = np.floor(x * _INVERSE_PI)
    middle = k + _HALF
    return -_half_turns_sign(k) * _sin_of_reduced(x - middle * _PI_HIGH - middle * _PI_LOW)


def sin_small(x):
    """Return the sine; error below 2e-8 for |x| <= 0.25."""
    z = x * x
    return x + x * z * (_SMALL_S3 + z * _SMALL_S5)


def cos_small(x):
    """Return the cosine; error below 7e-8 for |x| <= 0.25."""
    z = x * x
    return _ONE + z * (z * (_SMALL_C4 + z * _SMALL_C6) - _HALF)
