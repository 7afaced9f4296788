"""The random numbers of first states: even, and independent in every direction."""

import numpy as np
import pytest

pytest.importorskip("numba")
from numba import njit

from gym_envs.simd import random_words
from gym_envs.simd.compilation import _compile_pattern
from gym_envs.simd.random_words import COUNTER_STEP, seed_words

N_ENVS, N_EPISODES = 1_000, 200


@pytest.fixture(scope="module")
def uniforms():
    """Numbers in [0, 1) of (environment, episode, variable)."""
    draw = _compile_pattern(random_words.draw_4)
    low, span = (np.float32(0.0),) * 4, (np.float32(1.0),) * 4

    @njit
    def run(counters, keys, out):
        for i in range(out.shape[0]):
            counter = counters[i]
            for k in range(out.shape[1]):
                out[i, k] = draw(counter, keys[i], low, span)
                counter = np.uint32(counter + COUNTER_STEP)

    out = np.empty((N_ENVS, N_EPISODES, 4), np.float32)
    run(*seed_words(0, N_ENVS), out)
    return out.astype(np.float64)


def test_each_variable_is_even(uniforms):
    assert uniforms.min() >= 0.0
    assert uniforms.max() < 1.0
    expected = N_ENVS * N_EPISODES / 64
    for v in range(4):
        counts = np.bincount((uniforms[..., v] * 64).astype(int).ravel(), minlength=64)
        # Chi square with 63 degrees of freedom: mean 63, deviation 11.2.
        assert abs(((counts - expected) ** 2 / expected).sum() - 63) < 5 * 11.2


def test_pairs_of_variables_fill_the_square_evenly(uniforms):
    expected = N_ENVS * N_EPISODES / 1024
    for a in range(4):
        for b in range(a):
            cell = (uniforms[..., a] * 32).astype(int) * 32 + (uniforms[..., b] * 32).astype(int)
            counts = np.bincount(cell.ravel(), minlength=1024)
            # 1023 degrees of freedom: deviation 45.2.
            assert abs(((counts - expected) ** 2 / expected).sum() - 1023) < 5 * 45.2


@pytest.mark.parametrize("lag", [1, 2, 3, 16])
def test_neighbours_in_time_and_in_number_are_not_correlated(uniforms, lag):
    centred = uniforms - 0.5
    n = centred[lag:].size
    bound = 5 / np.sqrt(n) / 12  # five deviations of the mean of a product of two uniforms
    for v in range(4):
        for w in range(4):
            envs = (centred[lag:, :, v] * centred[:-lag, :, w]).mean()
            episodes = (centred[:, lag:, v] * centred[:, :-lag, w]).mean()
            assert abs(envs) < 2 * bound
            assert abs(episodes) < 2 * bound


def test_no_first_state_comes_twice(uniforms):
    states = np.unique(uniforms.reshape(-1, 4), axis=0)
    assert len(states) == N_ENVS * N_EPISODES


def test_words_of_a_seed_do_not_depend_on_the_number_of_environments():
    np.testing.assert_array_equal(seed_words(5, 7), seed_words(5, 100)[:, :7])
    np.testing.assert_array_equal(seed_words(5, 7, first=40), seed_words(5, 100)[:, 40:47])


def test_seeds_share_no_environment():
    words = np.concatenate([seed_words(seed, 2_000) for seed in range(50)], axis=1)
    both = words[0].astype(np.uint64) << np.uint64(32) | words[1]
    assert len(np.unique(both)) == both.size


def test_large_seeds_count_by_their_lowest_64_bits():
    np.testing.assert_array_equal(seed_words(2**64 + 3, 4), seed_words(3, 4))
    assert (seed_words(2**63, 4) != seed_words(0, 4)).any()
