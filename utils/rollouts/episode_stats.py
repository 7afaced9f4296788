"""Raw returns and lengths of whole episodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from utils.metrics.windows import EPISODE_WINDOW
from utils.rollouts.episode_metrics import MetricsWindow, pick_rows


@dataclass(frozen=True, slots=True)
class FinishedEpisodes:
    """Episodes that ended in one vector step."""

    env_index: np.ndarray
    """(K,) int64."""
    returns: np.ndarray
    """(K,) float64, undiscounted sum of raw rewards."""
    lengths: np.ndarray
    """(K,) int64, environment steps."""
    metrics: dict[str, np.ndarray] = field(default_factory=dict)
    """(K,) float64 by name: what the environments tell of these episodes, NaN where nothing."""


class EpisodeTracker:
    """Add up raw rewards for each environment and keep a window of the last finished episodes."""

    def __init__(self, n_envs: int, *, window: int = EPISODE_WINDOW) -> None:
        """Start with every environment at the beginning of an episode.

        Args:
            n_envs: Number of environments N.
            window: How many finished episodes the mean is taken over.
        """
        self._returns = np.zeros(n_envs, dtype=np.float64)
        self._lengths = np.zeros(n_envs, dtype=np.int64)
        self.window_returns: deque[float] = deque(maxlen=window)
        self.window_lengths: deque[int] = deque(maxlen=window)
        self.window_metrics = MetricsWindow(window)

    def update(
        self,
        raw_reward: np.ndarray,
        over: np.ndarray,
        *,
        is_counted: np.ndarray | None = None,
        metrics: Mapping[str, np.ndarray] | None = None,
    ) -> FinishedEpisodes | None:
        """Take in one vector step.

        Args:
            raw_reward: (N,) rewards of the environments' own.
            over: (N,) bool, the episode ended with this step.
            is_counted: (N,) bool, whose episodes are told of and kept; all if None.
            metrics: (N,) float64 by name, what the environments tell of episodes that ended.

        Returns:
            The counted episodes that ended, or None.
        """
        self._returns += raw_reward
        self._lengths += 1
        if not np.count_nonzero(over):  # for a few flags faster than any()
            return None
        counted = np.flatnonzero(over if is_counted is None else over & is_counted)
        finished = FinishedEpisodes(
            counted,
            self._returns[counted],
            self._lengths[counted],
            pick_rows(metrics or {}, counted),
        )
        self.window_metrics.extend(finished.metrics)
        self.window_returns.extend(finished.returns.tolist())
        self.window_lengths.extend(finished.lengths.tolist())
        self._returns[over] = 0.0
        self._lengths[over] = 0
        return finished if counted.size else None

    @property
    def running(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns (N,) float64 and lengths (N,) int64 of the running episodes, to be written to.

        Whoever counts steps elsewhere keeps them up to date, and tells of finished episodes by
        `add_finished`.
        """
        return self._returns, self._lengths

    def add_finished(self, returns: list[float], lengths: list[int]) -> None:
        """Take in episodes that were counted elsewhere, in the order in which they ended."""
        self.window_returns.extend(returns)
        self.window_lengths.extend(lengths)

    def share_window(self, other: EpisodeTracker) -> None:
        """Keep finished episodes in the window of another tracker, in the order they end in."""
        self.window_returns = other.window_returns
        self.window_lengths = other.window_lengths
        self.window_metrics = other.window_metrics

    def reset(self, env_index: np.ndarray | None = None) -> None:
        """Forget the running episodes of some environments (all if None), not the window."""
        index = slice(None) if env_index is None else env_index
        self._returns[index] = 0.0
        self._lengths[index] = 0

    def state_dict(self) -> dict[str, Any]:
        """Return running episodes and window as plain lists."""
        return {
            "returns": self._returns.tolist(),
            "lengths": self._lengths.tolist(),
            "window_returns": list(self.window_returns),
            "window_lengths": list(self.window_lengths),
            "window_metrics": self.window_metrics.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._returns[:] = state["returns"]
        self._lengths[:] = state["lengths"]
        self.window_returns.clear()
        self.window_returns.extend(state["window_returns"])
        self.window_lengths.clear()
        self.window_lengths.extend(state["window_lengths"])
        # States of earlier versions hold none.
        self.window_metrics.load_state_dict(state.get("window_metrics", {}))
