"""Random numbers as a function of a key and an index, for many keys in one call.

Number i of a key is the i-th output of SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable
pseudorandom number generators") with the key as its state. So what an episode holds depends on
its key alone, not on how many others are played beside it.
"""

from __future__ import annotations

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


def draw_words(keys: np.ndarray, first: np.ndarray, n: int) -> np.ndarray:
    """Return numbers `first` to `first + n - 1` of each key.

    Args:
        keys: (N,) uint64.
        first: (N,) int64, index of the first number, from 0.
        n: How many.

    Returns:
        (N, n) uint64.
    """
    index = first.astype(np.uint64)[:, None] + np.arange(1, n + 1, dtype=np.uint64)
    x = keys[:, None] + index * _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _MULTIPLIER_1
    x = (x ^ (x >> np.uint64(27))) * _MULTIPLIER_2
    return x ^ (x >> np.uint64(31))


def to_uniform(words: np.ndarray) -> np.ndarray:
    """Return float64 in [0, 1) from the upper 53 bits of each word."""
    return (words >> np.uint64(11)) * _UNIT


def to_normal(words: np.ndarray) -> np.ndarray:
    """Return standard normal float64, one from each two words (Box and Muller 1958).

    Args:
        words: (N, 2 m) uint64.

    Returns:
        (N, m) float64.
    """
    m = words.shape[1] // 2
    uniform = to_uniform(words)
    radius = np.sqrt(-2.0 * np.log1p(-uniform[:, :m]))  # 1 - u lies in (0, 1]
    return radius * np.cos(2.0 * np.pi * uniform[:, m:])
