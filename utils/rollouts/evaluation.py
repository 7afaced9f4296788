"""Judge a policy by whole episodes, without a trace in the training stream."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import torch
from gymnasium.vector import VectorEnv

from utils.policy_factory import ActorCritic
from utils.rollouts.episode_metrics import mean_metrics
from utils.rollouts.episode_stats import FinishedEpisodes
from utils.rollouts.stepper import Stepper
from utils.statistics import mean_half_width


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationResult:
    """Raw returns of whole episodes, and what could not be finished."""

    returns: list[float]
    """Undiscounted sum of raw rewards of each finished episode."""
    lengths: list[int]
    n_unfinished: int
    """Episodes that were asked for and not finished within the limits."""
    seconds: float
    seed: int
    is_deterministic: bool
    metrics: dict[str, float] = field(default_factory=dict)
    """Means of what the environments tell of these episodes, by name."""

    @property
    def mean(self) -> float | None:
        """Mean return; None where no episode finished."""
        return float(np.mean(self.returns)) if self.returns else None

    @property
    def std(self) -> float | None:
        """Standard deviation of the returns (divided by n - 1); None below two episodes."""
        return float(np.std(self.returns, ddof=1)) if len(self.returns) > 1 else None

    def confidence_half_width(self) -> float | None:
        """Half the width of the mean's 95 % interval (Student's t), None below two episodes."""
        return mean_half_width(self.returns)


def episode_quotas(n_episodes: int, n_envs: int) -> np.ndarray:
    """Split episodes over environments before anything runs; the first ones take the rest.

    Returns:
        (n_envs,) int64 that sums to `n_episodes`.
    """
    assert n_episodes > 0, n_episodes
    quotas = np.full(n_envs, n_episodes // n_envs)
    quotas[: n_episodes % n_envs] += 1
    return quotas


class EpisodeLedger:
    """Writes down finished episodes until every environment has had its quota."""

    def __init__(
        self, n_episodes: int, n_envs: int, *, max_episode_steps: int | None = None
    ) -> None:
        """Begin empty; see `evaluate_policy` for the arguments."""
        self._n_episodes, self._max_episode_steps = n_episodes, max_episode_steps
        self._remaining = episode_quotas(n_episodes, n_envs)
        self._running = np.zeros(n_envs, dtype=np.int64)
        self._returns: list[list[float]] = [[] for _ in range(n_envs)]
        self._lengths: list[list[int]] = [[] for _ in range(n_envs)]
        self._metrics: dict[str, list[float]] = {}

    @property
    def is_full(self) -> bool:
        """Whether no environment has an episode left to play."""
        return not self._remaining.any()

    def take_step(self, finished: FinishedEpisodes | None) -> None:
        """Take in one vector step and the episodes that ended with it."""
        self._running += 1
        if finished is not None:
            self._running[finished.env_index] = 0
            for k, (i, episode_return, length) in enumerate(
                zip(finished.env_index, finished.returns, finished.lengths, strict=True)
            ):
                if self._remaining[i] > 0:
                    for name, values in finished.metrics.items():
                        self._metrics.setdefault(name, []).append(float(values[k]))
                    self._returns[i].append(float(episode_return))
                    self._lengths[i].append(int(length))
                    self._remaining[i] -= 1
        if self._max_episode_steps is not None:
            self._remaining[self._running >= self._max_episode_steps] = 0

    def result(self, *, seconds: float, seed: int, deterministic: bool) -> EvaluationResult:
        """Return the finished episodes in the order of environments, then time."""
        returns = [r for per_env in self._returns for r in per_env]
        return EvaluationResult(
            returns=returns,
            lengths=[n for per_env in self._lengths for n in per_env],
            n_unfinished=self._n_episodes - len(returns),
            seconds=seconds,
            seed=seed,
            is_deterministic=deterministic,
            metrics=mean_metrics(self._metrics),
        )


@torch.inference_mode()
def evaluate_policy(
    policy: ActorCritic,
    env: VectorEnv,
    *,
    n_episodes: int,
    seed: int,
    deterministic: bool,
    device: torch.device,
    timeout_seconds: float,
    max_episode_steps: int | None = None,
) -> EvaluationResult:
    """Play `n_episodes` whole episodes and report their raw returns.

    Each environment has a fixed quota of episodes, so that short episodes cannot crowd out long
    ones. The environment is reset with `seed`, sampled actions come from a generator of their own
    and normaliser statistics stay as they are.

    Args:
        policy: Judged as it is; its normaliser is not updated.
        env: Vector environment that nothing else uses.
        n_episodes: Episodes over all environments.
        seed: Environment i gets seed + i.
        deterministic: Greedy actions rather than samples.
        device: Where the policy lives.
        timeout_seconds: Wall-clock limit; what is unfinished then is reported as such.
        max_episode_steps: An environment whose episode gets longer is given up: that episode and
            the rest of its quota are reported as unfinished.

    Returns:
        The finished episodes in the order of environments, then time.
    """
    generator = torch.Generator(device=device)
    generator.manual_seed(seed)
    stepper = Stepper(env, policy, device=device)
    ledger = EpisodeLedger(n_episodes, env.num_envs, max_episode_steps=max_episode_steps)
    started = time.perf_counter()
    stepper.reset(seed=seed)
    while not ledger.is_full and time.perf_counter() - started < timeout_seconds:
        observation = policy.normalize(stepper.observation)
        decision = stepper.decide(observation, generator=generator, deterministic=deterministic)
        ledger.take_step(stepper.step(decision.action).finished)
    return ledger.result(
        seconds=time.perf_counter() - started, seed=seed, deterministic=deterministic
    )
