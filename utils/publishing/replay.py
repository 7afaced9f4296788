"""The film of one fresh episode."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from utils.errors import UserError
from utils.playback.environment import RenderError, build_playback_env, frames_per_second
from utils.playback.episodes import PlayedEpisode, play_episode
from utils.video.writer import EncoderMissingError, VideoWriter


class NoReplayError(UserError):
    """The episode cannot be filmed."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A film that exists, and what it shows."""

    episode: PlayedEpisode
    """`cut` where the film ends before it."""
    n_frames: int
    """One more than the steps that it shows."""
    fps: float


def film_replay(
    config: Any, policy: nn.Module, path: Path, *, seed: int, deterministic: bool
) -> Replay:
    """Play one episode in an environment of its own and film it.

    Args:
        config: Of the run; a film ends after its `video_max_steps`.
        policy: In evaluation mode, on the CPU.
        path: The .mp4 file.
        seed: Of the episode.
        deterministic: Most likely actions rather than samples.

    Raises:
        NoReplayError: The environment cannot be drawn, or no encoder is installed.
        UserError: The environment fails, or the file cannot be written.
    """
    try:
        env = build_playback_env(config, render_mode="rgb_array")
        try:
            steps = play_episode(
                env,
                policy,
                seed=seed,
                deterministic=deterministic,
                max_steps=config.video_max_steps,
            )
            with VideoWriter(path, fps=frames_per_second(config, env)) as writer:
                for step in steps:
                    writer.write(step.frame)
            fps = frames_per_second(config, env)
        finally:
            env.close()
    except (RenderError, EncoderMissingError) as error:
        raise NoReplayError(
            f"no film: {error}; nothing was published (--no-video publishes without one, and the "
            "card says so)"
        ) from error
    assert step.episode is not None
    assert writer.n_frames == step.n_steps + 1, (writer.n_frames, step.n_steps)
    return Replay(step.episode, writer.n_frames, fps)
