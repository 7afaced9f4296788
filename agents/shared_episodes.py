"""The finished episodes of several processes as those of one."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from utils.distributed.share import Share
from utils.distributed.team import Team
from utils.rollouts import RolloutSummary
from utils.rollouts.episode_stats import EpisodeTracker, FinishedEpisodes
from utils.rollouts.stepper import Stepper


class SharedEpisodes:
    """Joins what the processes' steppers tell of finished episodes, in the order of one process."""

    def __init__(self, team: Team, share: Share) -> None:
        """Take the processes and the environments of this one."""
        self._team, self._share = team, share
        self._window = EpisodeTracker(share.total)

    def join(self, summary: RolloutSummary, stepper: Stepper) -> RolloutSummary:
        """Return the summary of all environments; all processes get the same.

        Args:
            summary: Of this process's environments.
            stepper: Of this process; what it has told is told no more.
        """
        assert stepper.finished is not None
        own, stepper.finished = stepper.finished, []
        episodes = sorted(
            (step, self._share.n * rank + int(index), *rest)
            for rank, told in enumerate(
                self._team.gather([row for s, f in own for row in _rows(s, f)])
            )
            for step, index, *rest in told
        )
        window = self._window
        for _, _, returns, length, metrics in episodes:
            window.add_finished([returns], [length])
            window.window_metrics.extend({k: np.array([v]) for k, v in metrics})
        return dataclasses.replace(
            summary,
            n_timesteps=summary.n_vec_steps * self._share.total,
            n_episodes=len(episodes),
            episode_returns=list(window.window_returns),
            episode_lengths=list(window.window_lengths),
            last_returns=[row[2] for row in episodes],
            episode_metrics=window.window_metrics.means(),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the window of finished episodes, the same in each process."""
        return self._window.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._window.load_state_dict(state)


def _rows(step: int, finished: FinishedEpisodes) -> list[tuple[Any, ...]]:
    """Return one row an episode: vector step, environment, return, length, what it told."""
    return [
        (
            step,
            int(index),
            float(finished.returns[k]),
            int(finished.lengths[k]),
            tuple((name, float(column[k])) for name, column in finished.metrics.items()),
        )
        for k, index in enumerate(finished.env_index)
    ]
