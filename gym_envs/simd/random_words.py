"""Random numbers of each environment's own: a function of two words of state and nothing else.

An environment has a key, that never changes, and a counter, that grows by a fixed odd number with
each episode. A first state is a hash of both, so it depends neither on the other environments nor
on the order in which anything is computed. A counter repeats after 2**32 episodes; keys and first
counters are 64 bits drawn from the seed and the environment's index.
"""

from __future__ import annotations

import numpy as np

COUNTER_STEP = np.uint32(0x9E3779B9)
_MULTIPLIER_1 = np.uint32(0x7FEB352D)
_MULTIPLIER_2 = np.uint32(0x846CA68B)
_MULTIPLIER_3 = np.uint32(0xC2B2AE35)
_SHIFT_1 = np.uint32(16)
_SHIFT_2 = np.uint32(15)
_UNUSED_BITS = np.uint32(8)
_UNIT = np.float32(2.0**-24)

_MASK_64 = (1 << 64) - 1


def hash_words(counter, key):
    """Return a uint32 that looks random: every bit of both words has a say in every bit of it."""
    x = np.uint32(counter ^ np.uint32(counter >> _SHIFT_1))
    x = np.uint32(x * _MULTIPLIER_1)
    x = np.uint32(x ^ np.uint32(x >> _SHIFT_2))
    x = np.uint32(np.uint32(x ^ key) * _MULTIPLIER_2)
    return np.uint32(x ^ np.uint32(x >> _SHIFT_1))


def following_word(word, key):
    """Return the next random word after one that looks random."""
    x = np.uint32(np.uint32(word + key) * _MULTIPLIER_3)
    return np.uint32(x ^ np.uint32(x >> _SHIFT_2))


def unit(word):
    """Return a float32 in [0, 1) from the upper 24 bits."""
    return np.float32(np.int32(word >> _UNUSED_BITS)) * _UNIT


def draw_2(counter, key, low, span):
    """Return two numbers, each uniform in [low, low + span)."""
    first = hash_words(counter, key)
    second = following_word(first, key)
    return low[0] + span[0] * unit(first), low[1] + span[1] * unit(second)


def draw_4(counter, key, low, span):
    """Return four numbers, each uniform in [low, low + span)."""
    first = hash_words(counter, key)
    second = following_word(first, key)
    third = following_word(second, key)
    fourth = following_word(third, key)
    return (
        low[0] + span[0] * unit(first),
        low[1] + span[1] * unit(second),
        low[2] + span[2] * unit(third),
        low[3] + span[3] * unit(fourth),
    )


def seed_words(seed, n_envs, first=0):
    """Return counters and keys of all environments, (2, n_envs) uint32, from one seed.

    Args:
        seed: Whole number >= 0; of larger ones the lowest 64 bits count.
        n_envs: Number of environments; the first words do not depend on it.
        first: Index of the first of them among all environments of the seed.
    """
    index = np.arange(first, first + n_envs, dtype=np.uint64)
    start = np.uint64(_mix_number(seed & _MASK_64))
    words = _mix(start + index * np.uint64(0x9E3779B97F4A7C15))
    return np.stack([words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)]).astype(np.uint32)


def _mix_number(number):
    return int(_mix(np.array([number], dtype=np.uint64))[0])


def _mix(x):
    """Return the 64-bit hash of SplitMix (Steele, Lea and Flood 2014) of an array."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
