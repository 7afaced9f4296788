"""Results as if episodes had been played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from utils.playback.episodes import PlayedEpisode
from utils.publishing.results import PublishedResults


def make_results(returns: Sequence[float], **changes: Any) -> PublishedResults:
    """Return results of greedy episodes with these returns, seeds from 10 on."""
    episodes = [
        PlayedEpisode(seed=10 + k, episode_return=value, length=4, end="terminated")
        for k, value in enumerate(returns)
    ]
    return PublishedResults(
        **({"episodes": episodes, "is_deterministic": True, "max_steps": None} | changes)
    )
