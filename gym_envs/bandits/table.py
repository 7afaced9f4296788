"""Many bandit problems side by side, as arrays."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gym_envs.bandits.random_numbers import draw_words, to_normal, to_uniform
from gym_envs.bandits.record import ArmRecord
from gym_envs.bandits.settings import BanditSettings

_SAVED = ("keys", "means", "context", "time", "last_arm", "last_reward", "regret", "n_optimal")


class BanditTable:
    """N problems of one distribution; every call works on all of them at once.

    An episode is a function of its key and of the arms that are pulled: the words of the key's
    random sequence are first the means and the first context, then a fixed number for each step.

    Attributes:
        settings: The distribution.
        means: (N, C, k) float64, what each arm pays on average now.
        context: (N,) int64, the situation of the next step, from 0.
        time: (N,) int64, steps taken in this episode.
        regret: (N,) float64, pseudo-regret of this episode so far: best mean minus the mean of the
            arm that was pulled, summed over the steps, each with the means of its time.
        n_optimal: (N,) int64, steps so far in which a best arm was pulled.
    """

    def __init__(self, settings: BanditSettings, n: int) -> None:
        """Allocate N problems; `begin` comes before the first `pull`."""
        self.settings = settings
        n_contexts, n_arms = settings.n_contexts, settings.n_arms
        self.keys = np.zeros(n, dtype=np.uint64)
        self.means = np.zeros((n, n_contexts, n_arms))
        self.context = np.zeros(n, dtype=np.int64)
        self.time = np.zeros(n, dtype=np.int64)
        self.last_arm = np.full(n, -1)
        self.last_reward = np.zeros(n)
        self.regret = np.zeros(n)
        self.n_optimal = np.zeros(n, dtype=np.int64)
        self.record = ArmRecord(n, n_contexts, n_arms, memory=settings.memory)
        self._rows = np.arange(n)
        self._n_means = n_contexts * n_arms
        self._n_first = 2 * self._n_means + 1
        self._n_each = 3 + (2 * self._n_means if settings.drift_std else 0)

    def begin(self, rows: np.ndarray, keys: np.ndarray) -> None:
        """Draw new problems.

        Args:
            rows: (K,) int64, which of the N.
            keys: (K,) uint64, one for each.
        """
        settings = self.settings
        words = draw_words(keys, np.zeros(len(keys), dtype=np.int64), self._n_first)
        if settings.rewards == "bernoulli":
            means = to_uniform(words[:, 1 : 1 + self._n_means])
        else:
            means = settings.mean_std * to_normal(words[:, 1:])
        self.keys[rows] = keys
        self.means[rows] = means.reshape(-1, *self.means.shape[1:])
        self.context[rows] = self._to_context(words[:, 0])
        self.last_arm[rows] = -1
        for column in (self.time, self.last_reward, self.regret, self.n_optimal):
            column[rows] = 0
        self.record.clear(rows)

    def pull(self, arm: np.ndarray) -> np.ndarray:
        """Take one step in every problem.

        Args:
            arm: (N,) int64, from 0, in the order in which the arms are shown.

        Returns:
            (N,) float64, what the arms pay.
        """
        settings = self.settings
        if settings.arm_order == "mean":
            arm = self._order(self.record.in_context(self.context)[1])[self._rows, arm]
        words = draw_words(self.keys, self._n_first + self.time * self._n_each, self._n_each)
        means = self.means[self._rows, self.context]
        chosen, best = means[self._rows, arm], means.max(axis=1)
        self.regret += best - chosen
        self.n_optimal += chosen >= best
        if settings.rewards == "bernoulli":
            reward = (to_uniform(words[:, 1]) < chosen).astype(np.float64)
        else:
            reward = chosen + settings.noise_std * to_normal(words[:, 1:3])[:, 0]
        self.record.add(self.context, arm, reward)
        if settings.drift_std:
            steps = to_normal(words[:, 3:]).reshape(self.means.shape)
            self.means += settings.drift_std * steps
        self.context = self._to_context(words[:, 0])
        self.last_arm, self.last_reward = arm.copy(), reward.copy()
        self.time += 1
        return reward

    @staticmethod
    def _order(means: np.ndarray) -> np.ndarray:
        """Return the arms from the best mean so far downwards, (N, k); equals by their number."""
        return np.argsort(-means, axis=1, kind="stable")

    def _to_context(self, words: np.ndarray) -> np.ndarray:
        return (to_uniform(words) * self.settings.n_contexts).astype(np.int64)

    def observe(self) -> np.ndarray:
        """Return what is shown of each problem, (N, n_observation) float32.

        One after the other, by the setting `observation`:
            none: 1, a constant.
            last: the last arm (one-hot, k; zeros at first), what it paid, time / horizon.
            statistics: for each arm of the present context, by `arm_order`, its mean so far (k;
                0 at first) and 1 / sqrt(1 + count) (k; from 1 downwards), then time / horizon.
        With more than one context, the present one follows (one-hot, C).
        """
        settings = self.settings
        parts: list[np.ndarray] = []
        if settings.observation == "none":
            parts.append(np.ones((len(self.keys), 1)))
        elif settings.observation == "last":
            arms = np.arange(settings.n_arms)
            parts += [self.last_arm[:, None] == arms, self.last_reward[:, None]]
        else:
            counts, means = self.record.in_context(self.context)
            if settings.arm_order == "mean":
                order = self._order(means)
                counts, means = (np.take_along_axis(x, order, axis=1) for x in (counts, means))
            parts += [means, 1.0 / np.sqrt(1.0 + counts)]
        if settings.observation != "none":
            parts.append(self.time[:, None] / settings.horizon)
        if settings.n_contexts > 1:
            parts.append(self.context[:, None] == np.arange(settings.n_contexts))
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def is_over(self) -> np.ndarray:
        """Return (N,) bool: the horizon has been reached."""
        return self.time >= self.settings.horizon

    def episode_metrics(self) -> dict[str, np.ndarray]:
        """Return regret and share of best arms of the running episodes, (N,) float64 each."""
        steps = np.maximum(self.time, 1)
        return {"regret": self.regret.copy(), "optimal_share": self.n_optimal / steps}

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the arrays that everything follows from."""
        arrays = {name: getattr(self, name).copy() for name in _SAVED}
        return arrays | {"counts": self.record.counts.copy(), "sums": self.record.sums.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from what `get_state` returned, for as many problems of the same distribution."""
        for name in _SAVED:
            getattr(self, name)[:] = state[name]
        self.record.counts[:] = state["counts"]
        self.record.sums[:] = state["sums"]


def observation_space(settings: BanditSettings) -> gym.spaces.Box:
    """Return the space of one problem's observation; see `BanditTable.observe`."""
    is_bernoulli = settings.rewards == "bernoulli"
    reward_bounds = (0.0, 1.0) if is_bernoulli else (-np.inf, np.inf)
    unit = (0.0, 1.0)
    bounds: list[tuple[float, float]]
    if settings.observation == "none":
        bounds = [(1.0, 1.0)]
    elif settings.observation == "last":
        bounds = [unit] * settings.n_arms + [reward_bounds, unit]
    else:
        bounds = [reward_bounds] * settings.n_arms + [unit] * settings.n_arms + [unit]
    if settings.n_contexts > 1:
        bounds += [unit] * settings.n_contexts
    low, high = np.array(bounds, dtype=np.float32).T
    return gym.spaces.Box(low, high, dtype=np.float32)
