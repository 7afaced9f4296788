"""Environments to look at: which ways of drawing there are, and frames that can be relied on."""

from __future__ import annotations

from typing import Any

import numpy as np

from utils.environment import build_env_from_config
from utils.environment.families.table import family_of
from utils.errors import EnvironmentFailedError, UserError
from utils.vector_envs import BaseVectorEnv, InProcessVectorEnv, SubprocessVectorEnv

# A policy that never ends an episode of an environment without a limit would play for ever.
_MOST_STEPS_WITHOUT_LIMIT = 10_000


class RenderError(UserError):
    """An environment that cannot be drawn as asked."""


def build_playback_env(
    config: Any, *, render_mode: str | None, n_envs: int = 1
) -> InProcessVectorEnv | SubprocessVectorEnv:
    """Build the environments of a config to play in, in this process where they can share one.

    Args:
        config: The stored config of a run.
        render_mode: "rgb_array" for frames, None for none.
        n_envs: How many to play in side by side.

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
    return _build(config, render_mode, n_envs)


def render_modes(config: Any) -> list[str]:
    """Return the render modes of a config's environment."""
    env = _build(config, None, 1)
    try:
        return [str(mode) for mode in env.metadata.get("render_modes") or ()]
    finally:
        env.close()


def _build(
    config: Any, render_mode: str | None, n_envs: int
) -> InProcessVectorEnv | SubprocessVectorEnv:
    is_alone = n_envs > 1 and family_of(config.env_id).one_per_process
    env = build_env_from_config(
        config,
        n_envs=n_envs,
        vectorization="async" if is_alone else "sync",
        render_mode=render_mode,
    )
    assert isinstance(env, InProcessVectorEnv | SubprocessVectorEnv), type(env)
    return env


def step_limit(config: Any, env: BaseVectorEnv, asked: int | None) -> int | None:
    """Return the steps after which an episode is cut; None where its own limit ends it.

    Args:
        config: Of the run.
        env: Built from it.
        asked: By the person.
    """
    limit: int | None = asked or config.eval_max_episode_steps
    if limit is None and env.max_episode_steps is None:
        return _MOST_STEPS_WITHOUT_LIMIT
    return limit


def frames_per_second(config: Any, env: BaseVectorEnv) -> float:
    """Return the pace of an environment's pictures: the config's, or the environment's own."""
    return float(config.spec.render_fps or env.render_fps)


def draw_states(
    env: BaseVectorEnv, is_wanted: np.ndarray, *, was_reset: np.ndarray
) -> list[np.ndarray | None]:
    """Draw the states that the last step led to.

    Args:
        env: Of the render mode rgb_array.
        is_wanted: (N,) bool, whose state is drawn.
        was_reset: (N,) bool, whose episode ended with that step: its last state is shown, which the
            environment has left since.

    Returns:
        N pictures (H, W, 3) uint8, RGB, arrays of their own; None where none is wanted.

    Raises:
        RenderError: An environment raises or returns something else than a picture.
    """
    drawn: list[Any] = [None] * env.num_envs
    try:
        if isinstance(env, InProcessVectorEnv):
            for k in np.flatnonzero(is_wanted & ~was_reset):
                drawn[k] = env.envs[k].render()
        elif (is_wanted & ~was_reset).any():
            drawn = list(env.render())
    except EnvironmentFailedError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())
        raise RenderError(
            f"{env.env_id} cannot be drawn: {type(error).__name__}: {text}"
        ) from error
    if (is_wanted & was_reset).any():
        final = env.final_frames
        drawn = [final[k] if was_reset[k] else frame for k, frame in enumerate(drawn)]
    return [
        as_frame(frame, env_id=env.env_id) if is_wanted[k] else None
        for k, frame in enumerate(drawn)
    ]


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
