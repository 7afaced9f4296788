"""Random numbers that are a function of a key and a position.

There is no state to carry along a loop: any part of a stream can be computed by itself, and saving
a position saves the stream.
"""

from __future__ import annotations

import math

import numpy as np

from gym_envs.numba_settings import njit
from utils.compiled.float32_math import HALF, cos_of_turns32, log32

_u = np.uint64
_GOLDEN = _u(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = _u(0xBF58476D1CE4E5B9), _u(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = _u(30), _u(27), _u(31)
_UPPER_24, _UPPER_32, _LOWER_24 = _u(40), _u(32), _u(0xFFFFFF)
_UNIT_24, _UNIT_32 = np.float32(2.0**-24), np.float32(2.0**-32)
_MINUS_TWO = np.float32(-2.0)


@njit(cache=True, error_model="numpy")
def random_word(key, position):
    """Return the 64 random bits at a position: the mixing of SplitMix64.

    Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators".

    Args:
        key: uint64, of the stream.
        position: uint64.
    """
    word = key + (position + _u(1)) * _GOLDEN
    word = (word ^ (word >> _SHIFT_1)) * _MIX_1
    word = (word ^ (word >> _SHIFT_2)) * _MIX_2
    return word ^ (word >> _SHIFT_3)


@njit(cache=True, error_model="numpy")
def uniform_of(word):
    """Return a float32 in [0, 1), a multiple of 2^-24."""
    return np.float32(np.int32(word >> _UPPER_24)) * _UNIT_24


@njit(cache=True, error_model="numpy")
def normal_of(word):
    """Return a standard normal float32, of at most 6.7 standard deviations (Box and Muller 1958).

    ``sqrt(-2 log u) cos(2 pi v)`` with u in (0, 1) of 32 bits and v in [0, 1) of 24 bits.
    """
    radius = (np.float32(np.int64(word >> _UPPER_32)) + HALF) * _UNIT_32
    angle = np.float32(np.int32(word & _LOWER_24)) * _UNIT_24
    # The largest u rounds to 1, and the logarithm there may round to above 0.
    square = max(np.float32(0.0), _MINUS_TWO * log32(radius))
    return np.float32(math.sqrt(square)) * cos_of_turns32(angle)
