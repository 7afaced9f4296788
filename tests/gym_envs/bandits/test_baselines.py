"""The indices of the algorithms by hand, and the order that they come in."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gym_envs.bandits.baselines import (
    UCB1,
    EpsilonGreedy,
    RandomArm,
    ThompsonSampling,
    TunedUCB,
)
from gym_envs.bandits.judge import judge_baseline
from gym_envs.bandits.registration import BANDITS
from gym_envs.bandits.settings import BanditSettings

COUNTS, MEANS = np.array([[4.0, 2.0, 0.0]]), np.array([[0.5, 1.0, 0.0]])
CONTEXT = np.array([0])


def make(kind: type, **settings: object):
    settings = {"n_arms": 3, **settings}
    return kind(BanditSettings(**settings), 1, generator=np.random.default_rng(0))


def test_ucb1_pulls_what_was_never_pulled_and_then_the_largest_bound() -> None:
    scores = make(UCB1).score(COUNTS, MEANS)[0]
    # n = 6: 0.5 + sqrt(2 ln 6 / 4) = 1.4465, 1 + sqrt(2 ln 6 / 2) = 2.3386
    assert scores[:2] == pytest.approx([1.446509, 2.338566], rel=1e-5)
    assert scores[2] == math.inf


def test_ucb1_grows_with_the_noise_and_shrinks_with_its_factor() -> None:
    gaussian = make(UCB1, rewards="gaussian", noise_std=3.0).score(COUNTS, MEANS)[0]
    assert gaussian[0] == pytest.approx(0.5 + 3 * math.sqrt(2 * math.log(6) / 4))
    tuned = make(TunedUCB).score(COUNTS, MEANS)[0]
    assert tuned[0] == pytest.approx(0.5 + math.sqrt(0.125 * math.log(6) / 4))


def test_ucb1_begins_with_each_arm_once() -> None:
    algorithm = make(UCB1)
    pulled = set()
    for _ in range(3):
        arm = algorithm.choose(CONTEXT)
        pulled.add(int(arm[0]))
        algorithm.learn(CONTEXT, arm, np.array([1.0]))
    assert pulled == {0, 1, 2}


def test_epsilon_greedy_takes_the_best_but_for_its_share() -> None:
    algorithm = EpsilonGreedy(BanditSettings(n_arms=3), 20_000, generator=np.random.default_rng(0))
    algorithm.record.counts[:] = COUNTS
    algorithm.record.sums[:] = COUNTS * MEANS
    arms = algorithm.choose(np.zeros(20_000, np.int64))
    # the best has 0.9 + 0.1 / 3; five deviations of sqrt(0.93 * 0.07 / 20000) are 0.009
    assert (arms == 1).mean() == pytest.approx(0.9333, abs=0.009)
    assert (arms == 2).mean() == pytest.approx(0.0333, abs=0.007)


def test_equals_are_chosen_alike() -> None:
    algorithm = RandomArm(BanditSettings(n_arms=4), 8000, generator=np.random.default_rng(0))
    counts = np.bincount(algorithm.choose(np.zeros(8000, np.int64)), minlength=4)
    assert (abs(counts - 2000) < 200).all()


def draws(algorithm, counts: np.ndarray, means: np.ndarray) -> np.ndarray:
    shape = (40_000, 1)
    return algorithm.score(np.tile(counts, shape), np.tile(means, shape))


def test_thompson_draws_from_the_beta_posterior() -> None:
    samples = draws(make(ThompsonSampling), COUNTS, MEANS)
    # Two of 4: Beta(3, 3), mean 1/2, variance 9 / (36 * 7); 2 of 2: Beta(3, 1), 3/4, 3 / (16 * 5);
    # never pulled, it is uniform
    assert samples.mean(axis=0) == pytest.approx([0.5, 0.75, 0.5], abs=0.008)
    assert samples.var(axis=0) == pytest.approx([1 / 28, 3 / 80, 1 / 12], rel=0.05)


def test_thompson_draws_from_the_normal_posterior() -> None:
    algorithm = make(ThompsonSampling, rewards="gaussian", noise_std=2.0, mean_std=1.0)
    samples = draws(algorithm, np.array([[4.0, 12.0, 0.0]]), np.array([[1.0, 2.0, 0.0]]))
    # r = 4: means 4/8, 24/16, 0; variances 4/8, 4/16, 4/4
    assert samples.mean(axis=0) == pytest.approx([0.5, 1.5, 0.0], abs=0.03)
    assert samples.var(axis=0) == pytest.approx([0.5, 0.25, 1.0], rel=0.05)


def test_each_context_has_a_record_of_its_own() -> None:
    algorithm = make(UCB1, n_contexts=2)
    algorithm.learn(np.array([1]), np.array([0]), np.array([1.0]))
    assert algorithm.record.in_context(np.array([0]))[0].sum() == 0
    assert algorithm.record.in_context(np.array([1]))[0].tolist() == [[1.0, 0.0, 0.0]]


def test_those_that_know_more_regret_less() -> None:
    means = []
    for kind in (RandomArm, UCB1, ThompsonSampling, TunedUCB):
        result = judge_baseline(kind, BANDITS["Bandit-Bernoulli-v0"], n_episodes=300, seed=0)
        assert result.regret.shape == result.returns.shape == (300,)
        means.append(result.regret.mean())
    # by chance 100 * (10/11 - 1/2) = 40.9 are lost
    assert means[0] == pytest.approx(40.9, abs=2.5)
    assert means == sorted(means, reverse=True)


def test_the_problems_are_those_of_the_seed() -> None:
    settings = BANDITS["Bandit-Gaussian-v0"]
    one = judge_baseline(RandomArm, settings, n_episodes=50, seed=4)
    again = judge_baseline(RandomArm, settings, n_episodes=50, seed=4)
    other = judge_baseline(RandomArm, settings, n_episodes=50, seed=5)
    assert (one.regret == again.regret).all()
    assert (one.regret != other.regret).any()
