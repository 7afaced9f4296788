"""How good a policy is on fresh episodes, as it is published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from utils.errors import UserError
from utils.playback.environment import build_playback_env, step_limit
from utils.playback.episodes import PlayedEpisode, play_episode
from utils.run.environment_facts import collect
from utils.seeding import derive_seed

_VERSIONS = ("torch", "gymnasium", "numpy", "ale-py", "box2d", "mujoco", "pygame-ce", "vizdoom")


class ResultError(UserError):
    """Episodes that say nothing that could be published."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedResults:
    """Raw returns of whole episodes that the policy had never met, each with its seed."""

    episodes: list[PlayedEpisode]
    """One or more, every one played to its end."""
    is_deterministic: bool
    max_steps: int | None
    """Steps within which each had to end, where somebody set that."""

    @property
    def returns(self) -> list[float]:
        """Undiscounted sums of raw rewards."""
        return [episode.episode_return for episode in self.episodes]

    @property
    def seed(self) -> int:
        """Seed of the first episode; each next one has one more."""
        return self.episodes[0].seed

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(np.mean(self.returns))

    @property
    def std(self) -> float:
        """Standard deviation of the returns, divided by n - 1."""
        return float(np.std(self.returns, ddof=1))

    @property
    def mean_reward(self) -> str:
        """The text by which leaderboards compare: `497.20 +/- 8.40`."""
        return f"{self.mean:.2f} +/- {self.std:.2f}"

    def record(self, config: Any, *, checkpoint: str, timesteps: int) -> dict[str, Any]:
        """Return what `results.json` holds; it depends on nothing but the policy and versions.

        Args:
            config: Of the run.
            checkpoint: Name of the checkpoint.
            timesteps: How long the policy was trained.
        """
        facts = collect()
        packages = facts["packages"]
        return {
            "env_id": config.env_id,
            "algo_id": config.algo_id,
            "config_id": config.config_id,
            "training_seed": config.seed,
            "checkpoint": checkpoint,
            "timesteps": timesteps,
            "mean_reward": self.mean,
            "std_reward": self.std,
            "n_eval_episodes": len(self.episodes),
            "is_deterministic": self.is_deterministic,
            "max_steps": self.max_steps,
            "seeds": [episode.seed for episode in self.episodes],
            "returns": self.returns,
            "lengths": [episode.length for episode in self.episodes],
            "ends": [episode.end for episode in self.episodes],
            "versions": {"python": facts["python"]}
            | {name: packages[name] for name in _VERSIONS if name in packages},
        }


def publication_seed(config: Any) -> int:
    """Return the seed of the first episode where nobody chose one: a stream of its own."""
    return derive_seed(config.seed, "publish")


def play_fresh_episodes(
    config: Any,
    policy: nn.Module,
    *,
    n_episodes: int,
    seed: int,
    deterministic: bool,
    max_steps: int | None,
) -> PublishedResults:
    """Play whole episodes, one after another, as `run_play.py` plays them again.

    Args:
        config: Of the run; says what to play in.
        policy: In evaluation mode, on the CPU.
        n_episodes: At least 2.
        seed: Of the first; each next one has one more.
        deterministic: Most likely actions rather than samples.
        max_steps: Steps within which each must end; None for the environment's own limit, or
            10,000 where it has none.

    Raises:
        ResultError: An episode did not end, or its return is not finite.
        UserError: The environment cannot be built or fails.
    """
    env = build_playback_env(config, render_mode=None)
    limit = step_limit(config, env, max_steps)
    episodes = []
    try:
        for k in range(n_episodes):
            steps = play_episode(
                env, policy, seed=seed + k, deterministic=deterministic, max_steps=limit
            )
            *_, last = steps
            assert last.episode is not None, last
            episodes.append(last.episode)
    finally:
        env.close()
    _check(episodes, limit)
    return PublishedResults(episodes=episodes, is_deterministic=deterministic, max_steps=max_steps)


def _check(episodes: list[PlayedEpisode], limit: int | None) -> None:
    cut = [episode for episode in episodes if episode.end == "cut"]
    if cut:
        raise ResultError(
            f"{len(cut)} of {len(episodes)} episodes did not end within {limit:,} steps, and a "
            "mean without them would be of another policy: nothing was published "
            "(--max-steps raises the limit)"
        )
    for episode in episodes:
        if not math.isfinite(episode.episode_return):
            raise ResultError(
                f"the return of the episode with seed {episode.seed} is {episode.episode_return}: "
                "nothing was published"
            )
