"""The CcaS-CcaR circuit in plain Python, after the reactions as they are written on paper."""

from __future__ import annotations

import math
from typing import NamedTuple

_MASK = 0xFFFFFFFF
STEP_MINUTES = 5.0


class Rates(NamedTuple):
    """The seven kinetic parameters."""

    h_production: float = 1.0
    dilution: float = 0.01
    f_production: float = 1.0
    h_half: float = 90.0
    h_exponent: float = 3.6
    f_half: float = 30.0
    f_exponent: float = 3.6


class Words:
    """The random words of one cell."""

    def __init__(self, counter: int, key: int) -> None:
        self.counter, self.key = int(counter), int(key)

    def draw_pair(self) -> tuple[float, float]:
        """Return two numbers in (0, 1)."""
        x = self.counter ^ (self.counter >> 16)
        x = x * 0x7FEB352D & _MASK
        x ^= x >> 15
        x = (x ^ self.key) * 0x846CA68B & _MASK
        first = x ^ (x >> 16)
        y = (first + self.key) * 0xC2B2AE35 & _MASK
        second = y ^ (y >> 15)
        self.counter = (self.counter + 0x9E3779B9) & _MASK
        return (first + 0.5) / 2**32, (second + 0.5) / 2**32


def hill(count: int, half: float, exponent: float) -> float:
    """Return count^n / (half^n + count^n)."""
    return count**exponent / (half**exponent + count**exponent)


def propensities(h: int, f: int, light: int, rates: Rates) -> list[float]:
    """Return those of H + 1, H - 1, F + 1 by H, F + 1 by F, F - 1, per minute."""
    return [
        rates.h_production * light,
        rates.dilution * h,
        0.5 * rates.f_production * hill(h, rates.h_half, rates.h_exponent),
        0.5 * rates.f_production * hill(f, rates.f_half, rates.f_exponent),
        rates.dilution * f,
    ]


_CHANGES = ((1, 0), (-1, 0), (0, 1), (0, 1), (0, -1))


def simulate_step(h: int, f: int, light: int, rates: Rates, words: Words) -> tuple[int, int]:
    """Return H and F five minutes later (Gillespie 1977, the direct method)."""
    left = STEP_MINUTES
    while True:
        rows = propensities(h, f, light, rates)
        total = sum(rows)
        first, second = words.draw_pair()
        if total == 0.0:
            return h, f
        left -= -math.log(first) / total
        if left <= 0.0:
            return h, f
        chosen = second * total
        for row, (dh, df) in zip(rows, _CHANGES, strict=True):
            if chosen < row:
                h, f = h + dh, f + df
                break
            chosen -= row
