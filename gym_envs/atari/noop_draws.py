"""How many no-ops a game begins with, drawn as ALE's own vector environment draws them."""

from __future__ import annotations

import numpy as np

_WORD_BITS = 32
_LOW_BITS = (1 << _WORD_BITS) - 1


def build_generator(seed: int | None) -> np.random.Generator:
    """Build a Mersenne twister that C++'s `std::mt19937(seed)` would give the same words as.

    Args:
        seed: 0 to 2^32 - 1; None takes entropy of the system.
    """
    generator = np.random.Generator(np.random.MT19937())
    if seed is not None:
        # Only the legacy class seeds by the twister's reference algorithm.
        legacy = np.random.RandomState(seed)
        generator.bit_generator.state = legacy.get_state(legacy=False)
    return generator


def draw_below(generator: np.random.Generator, n: int) -> int:
    """Draw from {0, ..., n - 1} as GCC's `std::uniform_int_distribution` does.

    Multiply-and-shift with rejection: Lemire 2019, "Fast random integer generation in an
    interval" (doi:10.1145/3230636), algorithm 5.

    Args:
        generator: From `build_generator`.
        n: At least 1.
    """
    product = int(generator.bit_generator.random_raw()) * n
    if product & _LOW_BITS < n:
        threshold = (1 << _WORD_BITS) % n
        while product & _LOW_BITS < threshold:
            product = int(generator.bit_generator.random_raw()) * n
    return product >> _WORD_BITS
