"""Philox in tensors against the published vector, plain integers and the uniform distribution."""

import numpy as np
import torch

from gym_envs.torch_envs.philox import philox_keys, philox_words, to_unit_interval


def philox_of_integers(seed, counter):
    """Philox 4x32-10 as the paper writes it, in Python's unbounded integers."""
    c = list(counter)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [
            (p1 >> 32) ^ c[1] ^ k0,
            p1 & 0xFFFFFFFF,
            (p0 >> 32) ^ c[3] ^ k1,
            p0 & 0xFFFFFFFF,
        ]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def test_counter_zero_with_key_zero_gives_the_published_words():
    zero = torch.zeros(1, dtype=torch.int32)
    words = philox_words(philox_keys(0, device="cpu"), zero, zero)
    # Random123's known-answer file: philox 4x32 10, all zero.
    assert words[:, 0].tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_words_are_those_of_plain_integers():
    seeds = [1, 2**32 - 1, 2**32, 2**63 + 12345, 2**64 - 1]
    counters = [(0, 1), (1, 0), (65_535, 3), (2**31 - 1, 2**31 - 1)]
    columns = torch.tensor(counters, dtype=torch.int32)
    for seed in seeds:
        words = philox_words(philox_keys(seed, device="cpu"), columns[:, 0], columns[:, 1])
        expected = [philox_of_integers(seed, (*counter, 0, 0)) for counter in counters]
        assert words.T.tolist() == expected, seed


def test_unit_interval_keeps_24_bits_and_never_reaches_one():
    words = torch.tensor([0, 255, 256, 2**32 - 1])
    assert to_unit_interval(words).tolist() == [0.0, 0.0, 2.0**-24, 1.0 - 2.0**-24]


def test_numbers_are_uniform_and_independent():
    index = torch.arange(100_000, dtype=torch.int32)
    unit = to_unit_interval(philox_words(philox_keys(7, device="cpu"), index, index % 5)).numpy()
    # Standard errors: mean 0.2887 / sqrt(1e5) = 0.0009, a bin of 100 has 1,000 +- 31.
    assert np.abs(unit.mean(axis=1) - 0.5).max() < 0.004
    for row in unit:
        counts = np.histogram(row, bins=100, range=(0.0, 1.0))[0]
        assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 160.0  # chi-square, 99 degrees
    correlations = np.corrcoef(np.concatenate([unit, np.roll(unit, 1, axis=1)]))
    assert np.abs(correlations - np.eye(8)).max() < 0.02
