"""Random numbers by position: known words, and the shape of what is made of them."""

from __future__ import annotations

import math

import numpy as np

from gym_envs.numba_settings import njit
from utils.compiled.float32_math import cos_of_turns32
from utils.compiled.random_numbers import normal_of, random_word, uniform_of


@njit(cache=True)
def fill(key, words, uniforms, normals):
    for i in range(words.size):
        words[i] = random_word(key, np.uint64(i))
        uniforms[i] = uniform_of(words[i])
        normals[i] = normal_of(words[i])


def draw(n, key=0):
    arrays = np.empty(n, np.uint64), np.empty(n, np.float32), np.empty(n, np.float32)
    fill(np.uint64(key), *arrays)
    return arrays


def test_words_are_those_of_splitmix64():
    """The first three of seed 0, as its authors' program prints them."""
    words, _, _ = draw(3)
    assert [int(word) for word in words] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


def test_uniforms_fill_the_unit_interval():
    _, uniforms, _ = draw(200_000, key=5)
    assert 0.0 <= uniforms.min() < 1e-4
    assert 1.0 - 1e-4 < uniforms.max() < 1.0
    counts = np.bincount((uniforms * 100).astype(int), minlength=100)
    assert ((counts - 2000) ** 2 / 2000).sum() < 149  # 99.9 % of a chi-square with 99


def test_normals_are_normal():
    _, _, normals = draw(200_000, key=6)
    z = np.sort(normals.astype(np.float64))
    cumulative = np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in z])
    distance = np.abs(cumulative - np.arange(1, len(z) + 1) / len(z)).max()
    assert distance < 1.95 / math.sqrt(len(z))  # Kolmogorov, 99.9 %
    assert abs((z**4).mean() - 3.0) < 0.1


def test_extreme_words_give_finite_numbers():
    words = np.array([0, 2**64 - 1, 2**32, 2**64 - 2**32], dtype=np.uint64)
    for word in words:
        assert 0.0 <= uniform_of(word) < 1.0
        assert abs(normal_of(word)) < 7.0


def test_cosine_of_turns_is_within_its_error():
    @njit
    def map_cos(x, y):
        for i in range(x.size):
            y[i] = cos_of_turns32(x[i])

    x = np.linspace(0.0, 1.0, 100_001).astype(np.float32)
    y = np.empty_like(x)
    map_cos(x, y)
    assert np.abs(y - np.cos(2.0 * np.pi * x.astype(np.float64))).max() < 3e-7
