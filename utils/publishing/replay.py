"""The film of one fresh episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from utils.errors import UserError
from utils.playback.environment import RenderError
from utils.playback.episodes import PlayedEpisode
from utils.playback.film import film_episode
from utils.video.writer import EncoderMissingError


class NoReplayError(UserError):
    """The episode cannot be filmed."""


def film_replay(
    config: Any, policy: nn.Module, path: Path, *, seed: int, deterministic: bool
) -> PlayedEpisode:
    """Film one episode for a card; see `film_episode`.

    Args:
        config: Of the run; a film ends after its `video_max_steps`.
        policy: In evaluation mode, on the CPU.
        path: The .mp4 file.
        seed: Of the episode.
        deterministic: Most likely actions rather than samples.

    Returns:
        The episode, `cut` where the film ends before it.

    Raises:
        NoReplayError: The environment cannot be drawn, or no encoder is installed.
        UserError: The environment fails, or the file cannot be written.
    """
    try:
        return film_episode(
            config,
            policy,
            path,
            seed=seed,
            deterministic=deterministic,
            max_steps=config.video_max_steps,
        )
    except (RenderError, EncoderMissingError) as error:
        raise NoReplayError(
            f"no film: {error}; nothing was published (--no-video publishes without one, and the "
            "card says so)"
        ) from error
