"""Random numbers that depend on a counter alone: Philox 4x32 with 10 rounds, in integer tensors.

Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3". Every device draws the same
words for the same seed and counter, and so does Triton's `tl.philox(seed, c0, c1, c2, c3)`.
"""

from __future__ import annotations

import torch
from torch import Tensor

N_WORDS = 4
_N_ROUNDS = 10
_MULTIPLIER_EVEN = 0xD2511F53
_MULTIPLIER_ODD = 0xCD9E8D57
_KEY_STEP_LOW = 0x9E3779B9
_KEY_STEP_HIGH = 0xBB67AE85
_MASK = 0xFFFFFFFF
_UNIT = 2.0**-24


def philox_keys(seed: int, *, device: torch.device | str) -> Tensor:
    """Return the keys of all rounds, (10, 2, 1) int64, each below 2^32.

    Args:
        seed: 0 to 2^64 - 1.
        device: Where they shall live.
    """
    assert 0 <= seed < 2**64, seed
    low, high = seed & _MASK, seed >> 32
    keys = [
        [[(low + i * _KEY_STEP_LOW) & _MASK], [(high + i * _KEY_STEP_HIGH) & _MASK]]
        for i in range(_N_ROUNDS)
    ]
    return torch.tensor(keys, dtype=torch.int64, device=device)


def philox_words(keys: Tensor, counter0: Tensor, counter1: Tensor) -> Tensor:
    """Draw four words for every counter (counter0, counter1, 0, 0).

    Args:
        keys: From `philox_keys`.
        counter0: (N,) integers in [0, 2^31).
        counter1: (N,) integers in [0, 2^31).

    Returns:
        (4, N) int64 in [0, 2^32).
    """
    # Rows (c0, c2) and (c1, c3). Products wrap at 64 bits, which leaves all 64 of them right.
    even = torch.stack((counter0, torch.zeros_like(counter0))).to(torch.int64)
    odd = torch.stack((counter1, torch.zeros_like(counter1))).to(torch.int64)
    for key in keys:
        product_even = even[1] * _MULTIPLIER_ODD
        product_odd = even[0] * _MULTIPLIER_EVEN
        product = torch.stack((product_even, product_odd))
        even = ((product >> 32) & _MASK) ^ odd ^ key
        odd = product & _MASK
    return torch.stack((even[0], odd[0], even[1], odd[1]))


def to_unit_interval(words: Tensor) -> Tensor:
    """Turn words into float32 in [0, 1), multiples of 2^-24, exactly."""
    return (words >> 8).to(torch.float32) * _UNIT
