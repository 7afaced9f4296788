"""Judges a bandit algorithm by whole episodes, on the very problems that a policy is judged on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gym_envs.bandits.baselines import BASELINES, Baseline
from gym_envs.bandits.vector_env import BanditVectorEnv


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineResult:
    """How an algorithm fared; all (n_episodes,) float64."""

    regret: np.ndarray
    """Pseudo-regret of each episode."""
    optimal_share: np.ndarray
    """Fraction of the steps on a best arm."""
    returns: np.ndarray
    """Sum of rewards."""


def judge_baseline(
    baseline: type[Baseline], arguments: Mapping[str, Any], *, n_episodes: int, seed: int
) -> BaselineResult:
    """Play one episode of each of `n_episodes` problems.

    Problem i is the first episode of environment i after a reset with `seed`: the same that a
    policy meets in as many environments reset with that seed.

    Args:
        baseline: The algorithm.
        arguments: Of the environment, as in `BanditSettings`; the algorithm pulls arms by number.
        n_episodes: How many problems.
        seed: Of the problems; the algorithm's own randomness follows from it too.
    """
    env = BanditVectorEnv(n_episodes, **{**arguments, "arm_order": "fixed"})
    generator = np.random.default_rng([seed, 1])
    algorithm = baseline(env.settings, n_episodes, generator=generator)
    env.reset(seed=seed)
    returns = np.zeros(n_episodes)
    metrics: dict[str, np.ndarray] = {}
    for _ in range(env.settings.horizon):
        context = env.table.context.copy()
        arm = algorithm.choose(context)
        _, reward, _, _, infos = env.step(arm)
        algorithm.learn(context, arm, reward)
        returns += reward
        metrics = infos.get("episode_metrics", metrics)
    env.close()
    return BaselineResult(returns=returns, **metrics)


def judge_all(
    arguments: Mapping[str, Any], *, n_episodes: int, seed: int
) -> dict[str, dict[str, float]]:
    """Judge every baseline on the same problems.

    Args:
        arguments: As for `judge_baseline`, and so are the others.
        n_episodes: How many problems.
        seed: Of the problems.

    Returns:
        By the name of the algorithm the means: regret, optimal_share, return.
    """
    rows = {}
    for baseline in BASELINES:
        result = judge_baseline(baseline, arguments, n_episodes=n_episodes, seed=seed)
        rows[baseline.name] = {
            "regret": float(result.regret.mean()),
            "optimal_share": float(result.optimal_share.mean()),
            "return": float(result.returns.mean()),
        }
    return rows
