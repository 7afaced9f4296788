"""Environments to look at: which ways of drawing there are, and frames that can be relied on."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from utils.environment import build_env_from_config
from utils.errors import UserError
from utils.vector_envs import BaseVectorEnv, InProcessVectorEnv


class RenderError(UserError):
    """An environment that cannot be drawn as asked."""


def build_playback_env(config: Any, *, render_mode: str | None) -> InProcessVectorEnv:
    """Build one environment of a config in this process.

    Args:
        config: The stored config of a run.
        render_mode: "rgb_array" for frames, "human" for a window, None for neither.

    Raises:
        RenderError: The environment does not know that render mode.
        UserError: See `build_env`.
    """
    if render_mode is not None:
        known = render_modes(config)
        if render_mode not in known:
            listed = ", ".join(known) or "none"
            raise RenderError(
                f"{config.env_id} cannot be drawn: it has no render mode '{render_mode}' "
                f"(it has: {listed})"
            )
    return _build_one(config, render_mode)


def render_modes(config: Any) -> list[str]:
    """Return the render modes of a config's environment."""
    env = _build_one(config, None)
    try:
        return [str(mode) for mode in env.metadata.get("render_modes") or ()]
    finally:
        env.close()


def _build_one(config: Any, render_mode: str | None) -> InProcessVectorEnv:
    if render_mode == "rgb_array" and not has_display():
        # Otherwise SDL looks for a display all the same and complains on the terminal.
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    env = build_env_from_config(config, n_envs=1, vectorization="sync", render_mode=render_mode)
    assert isinstance(env, InProcessVectorEnv), type(env)
    return env


def has_display(environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> bool:
    """Say whether a window would be seen.

    Without a display SDL draws into memory and reports success, so this cannot be tried out.
    """
    if platform in ("darwin", "win32"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def frames_per_second(config: Any, env: BaseVectorEnv) -> float:
    """Return the pace of an environment's pictures: the config's, or the environment's own."""
    return float(config.spec.render_fps or env.render_fps)


def current_frame(env: InProcessVectorEnv) -> np.ndarray:
    """Draw the state that the only environment of `env` is in.

    Returns:
        (H, W, 3) uint8, RGB, an array of its own.

    Raises:
        RenderError: The environment raises or returns something else than a picture.
    """
    try:
        frame = env.envs[0].render()
    except Exception as error:
        text = " ".join(str(error).split())
        raise RenderError(
            f"{env.env_id} cannot be drawn: {type(error).__name__}: {text}"
        ) from error
    return as_frame(frame, env_id=env.env_id)


def as_frame(frame: Any, *, env_id: str) -> np.ndarray:
    """Return what an environment drew as (H, W, 3) uint8; grey becomes RGB, alpha is left out.

    Raises:
        RenderError: It is no picture.
    """
    if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8 or frame.ndim not in (2, 3):
        kind = f"{frame.dtype} {frame.shape}" if isinstance(frame, np.ndarray) else type(frame)
        raise RenderError(f"{env_id} cannot be drawn: render() gave {kind}, not a uint8 picture")
    if frame.ndim == 2:
        frame = frame[..., None]
    channels = frame.shape[2]
    if channels not in (1, 3, 4):
        raise RenderError(f"{env_id} cannot be drawn: its pictures have the shape {frame.shape}")
    return np.array(np.repeat(frame, 3, axis=2) if channels == 1 else frame[..., :3])
