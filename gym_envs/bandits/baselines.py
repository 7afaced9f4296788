"""Bandit algorithms to hold a learnt policy against; each plays N problems side by side.

They know the distribution of rewards where their papers do, and nothing of the means. Where a step
is in one of several contexts they keep a record for each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from typing_extensions import override

from gym_envs.bandits.record import ArmRecord
from gym_envs.bandits.settings import BanditSettings


class Baseline(ABC):
    """Chooses arms from what it has seen in this episode.

    Attributes:
        name: What people call it.
        record: Counts and sums of what was seen, discounted by the settings' `memory`.
    """

    name: str

    def __init__(self, settings: BanditSettings, n: int, *, generator: np.random.Generator) -> None:
        """Know nothing of N new problems.

        Args:
            settings: The distribution of the problems.
            n: Number of problems N.
            generator: Source of the algorithm's own randomness.
        """
        self.settings = settings
        self.generator = generator
        self.record = ArmRecord(n, settings.n_contexts, settings.n_arms, memory=settings.memory)

    def choose(self, context: np.ndarray) -> np.ndarray:
        """Return an arm for each problem, (N,) int64.

        Args:
            context: (N,) int64, the situation at hand; zeros where there is one only.
        """
        scores = self.score(*self.record.in_context(context))
        # Ties are broken at random: noise below any difference that counts decides among equals.
        is_best = scores >= scores.max(axis=1, keepdims=True)
        return np.where(is_best, self.generator.random(scores.shape), -1.0).argmax(axis=1)

    @abstractmethod
    def score(self, counts: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Return the index of each arm, (N, k) float64; the largest is pulled.

        Args:
            counts: (N, k) pulls so far.
            means: (N, k) mean of what they paid, 0 where there was no pull.
        """

    def learn(self, context: np.ndarray, arm: np.ndarray, reward: np.ndarray) -> None:
        """Take in what the chosen arms paid, all (N,)."""
        self.record.add(context, arm, reward)


class RandomArm(Baseline):
    """Pulls any arm, each as likely as the others."""

    name = "random"

    @override
    def score(self, counts: np.ndarray, means: np.ndarray) -> np.ndarray:
        return np.zeros_like(means)


class EpsilonGreedy(Baseline):
    """Pulls the arm with the best sample mean, but any arm with probability epsilon.

    Sutton and Barto 2018, section 2.2; an arm that was never pulled counts as 0.
    """

    name = "epsilon-greedy 0.1"
    epsilon = 0.1

    @override
    def score(self, counts: np.ndarray, means: np.ndarray) -> np.ndarray:
        explores = self.generator.random((len(means), 1)) < self.epsilon
        return np.where(explores, 0.0, means)


class UCB1(Baseline):
    """Pulls each arm once, then the one with the largest mean + sqrt(2 ln n / n_j).

    Auer, Cesa-Bianchi and Fischer 2002, "Finite-time analysis of the multiarmed bandit problem",
    figure 1; n is the number of pulls so far, n_j that of arm j. Its bound is for rewards in
    [0, 1]. With Gaussian noise of standard deviation s the term is multiplied by s; with a memory
    below 1 counts and means are discounted (Garivier and Moulines 2011, section 2).
    """

    name = "UCB1"
    exploration = 2.0
    """The factor below the root, 2 in the paper."""

    @override
    def score(self, counts: np.ndarray, means: np.ndarray) -> np.ndarray:
        total = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        scale = self.settings.noise_std if self.settings.rewards == "gaussian" else 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            bonus = scale * np.sqrt(self.exploration * np.log(total) / counts)
        return np.where(counts > 0, means + bonus, np.inf)


class TunedUCB(UCB1):
    """UCB1 with 0.125 rather than 2 below the root, for horizons of hundreds of steps.

    That had the least mean regret among 0.125, 0.25, 0.5, 1 and 2 on each registered bandit.
    """

    name = "UCB1, factor 0.125"
    exploration = 0.125


class ThompsonSampling(Baseline):
    """Draws each arm's mean from its posterior and pulls the arm with the largest draw.

    Thompson 1933; Chapelle and Li 2011, "An empirical evaluation of Thompson sampling",
    algorithm 2 for arms that pay 0 or 1: Beta(1 + successes, 1 + failures). Gaussian arms:
    prior N(0, mean_std^2) and known noise give N(n m / (n + r), noise_std^2 / (n + r)) with
    n pulls of mean m and r = noise_std^2 / mean_std^2. Both are the true prior of problems that
    do not drift; where they do, discounted counts stand in for the posterior.
    """

    name = "Thompson sampling"

    @override
    def score(self, counts: np.ndarray, means: np.ndarray) -> np.ndarray:
        if self.settings.rewards == "bernoulli":
            successes = counts * means
            return self.generator.beta(1.0 + successes, 1.0 + counts - successes)
        noise, spread = self.settings.noise_std, max(self.settings.mean_std, 1e-6)
        weight = counts + (noise / spread) ** 2
        draws = self.generator.standard_normal(means.shape)
        return counts * means / weight + noise / np.sqrt(weight) * draws


BASELINES: tuple[type[Baseline], ...] = (
    RandomArm,
    EpsilonGreedy,
    UCB1,
    TunedUCB,
    ThompsonSampling,
)
"""All of them, from the least to the most that they know."""
