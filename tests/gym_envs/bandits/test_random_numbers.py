from __future__ import annotations

import numpy as np

from gym_envs.bandits.random_numbers import draw_words, to_normal, to_uniform


def splitmix(state: int) -> int:
    """The next output of SplitMix64, in plain integers; the state grows by the odd constant."""
    mask = (1 << 64) - 1
    x = (state + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def test_words_are_those_of_splitmix64() -> None:
    # Published first outputs for the seed 1234567.
    words = draw_words(np.array([1234567], np.uint64), np.array([0]), 3)
    assert words.tolist() == [[6457827717110365317, 3203168211198807973, 9817491932198370423]]


def test_a_key_at_any_index_gives_what_it_gives_in_a_row() -> None:
    keys = np.array([5, 2**64 - 1], np.uint64)
    row = draw_words(keys, np.array([0, 0]), 6)
    assert draw_words(keys, np.array([4, 1]), 2).tolist() == [
        row[0, 4:6].tolist(),
        row[1, 1:3].tolist(),
    ]
    assert int(row[1, 0]) == splitmix(2**64 - 1)


def test_uniform_numbers_lie_in_the_unit_interval() -> None:
    words = np.array([[0, 2**63, 2**64 - 1]], np.uint64)
    uniform = to_uniform(words)[0]
    assert uniform[:2].tolist() == [0.0, 0.5]
    assert uniform[2] < 1.0


def test_normal_numbers_have_the_moments_of_one() -> None:
    words = draw_words(np.arange(1000, dtype=np.uint64), np.zeros(1000, np.int64), 200)
    x = to_normal(words).ravel()  # 100,000 of them
    assert abs(x.mean()) < 0.015  # five standard errors: 5 / sqrt(1e5) = 0.0158
    assert abs(x.var() - 1.0) < 0.025  # 5 * sqrt(2 / 1e5) = 0.0224
    assert abs((x**4).mean() - 3.0) < 0.2
    assert np.isfinite(to_normal(np.array([[0, 0, 2**64 - 1, 2**64 - 1]], np.uint64))).all()
