"""One episode of a policy as a video file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from utils.playback.environment import build_playback_env, frames_per_second
from utils.playback.episodes import PlayedEpisode, play_episode
from utils.policies import Policy
from utils.video import VideoWriter


def film_episode(
    config: Any,
    policy: Policy,
    path: Path,
    *,
    seed: int,
    deterministic: bool,
    max_steps: int | None = None,
    device: torch.device | None = None,
) -> PlayedEpisode:
    """Play one episode in an environment of its own and write it to a file.

    Args:
        config: The config of the run.
        policy: Acts as it is.
        path: The .mp4 file; it appears when it is complete.
        seed: Of the episode.
        deterministic: Most likely actions rather than samples.
        max_steps: The film ends after so many steps.
        device: Where the policy lives; the CPU if None.

    Returns:
        The episode, `cut` where the film ended before it.

    Raises:
        RenderError: The environment cannot be drawn.
        UserError: It cannot be built, fails, or the file cannot be written; no file is left.
    """
    env = build_playback_env(config, render_mode="rgb_array")
    try:
        steps = play_episode(
            env,
            policy,
            seed=seed,
            deterministic=deterministic,
            max_steps=max_steps,
            device=device,
        )
        with VideoWriter(path, fps=frames_per_second(config, env)) as writer:
            for step in steps:
                writer.write(step.frame)
        assert step.episode is not None
        return step.episode
    finally:
        env.close()
