"""The latest finished episodes, told in groups because a device tells of sums only."""

from __future__ import annotations

from collections import deque
from typing import Any

from utils.device_rollouts.episode_sums import EpisodeTotals
from utils.metrics.windows import EPISODE_WINDOW


class EpisodeWindow:
    """Keeps the latest groups of episodes that together hold at least `size`, and no more.

    The counterpart of `EpisodeTracker`'s window: a group is what one epoch finished, and it stays
    or goes as a whole. So the mean is over the last hundred episodes or somewhat more, never over
    the few that happened to end in the last epoch, which are the short ones or the long ones.
    """

    def __init__(self, size: int = EPISODE_WINDOW) -> None:
        """Start without episodes.

        Args:
            size: How many episodes the means are taken over, at least, once there were as many.
        """
        self._size = size
        self._groups: deque[EpisodeTotals] = deque()

    def add(self, totals: EpisodeTotals) -> None:
        """Take in the episodes that have ended since the last call."""
        if totals.n_episodes == 0:
            return
        self._groups.append(totals)
        while self._count() - self._groups[0].n_episodes >= self._size:
            self._groups.popleft()

    def _count(self) -> int:
        return sum(group.n_episodes for group in self._groups)

    def metrics(self) -> dict[str, float]:
        """Return the metrics of the episodes in the window; nothing without any."""
        n_episodes = self._count()
        if n_episodes == 0:
            return {}
        groups = self._groups
        return {
            "train/roll/ep_rew_mean": sum(group.return_sum for group in groups) / n_episodes,
            "train/roll/ep_rew_min": min(group.return_min for group in groups),
            "train/roll/ep_rew_max": max(group.return_max for group in groups),
            "train/roll/ep_len_mean": sum(group.length_sum for group in groups) / n_episodes,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the groups as plain lists."""
        return {"groups": [list(group) for group in self._groups]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._groups = deque(EpisodeTotals(*group) for group in state["groups"])
