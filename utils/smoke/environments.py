"""One configured environment, built, stepped at random, rendered and closed."""

from __future__ import annotations

from typing import Any

import numpy as np

from utils.config import load_config
from utils.environment import build_env_from_config
from utils.environment.families.family import Family
from utils.environment.families.table import family_of
from utils.text_tables import counted
from utils.vector_envs import BaseVectorEnv

N_ENVS = 2
DEFAULT_VEC_STEPS = 100


def step_at_random(config_id: str, *, timesteps: int | None) -> str:
    """Try the environment of a config in every way that its family can run.

    Args:
        config_id: Which.
        timesteps: Environment steps of each way; None for 100 of every environment.

    Returns:
        What was done.

    Raises:
        AssertionError: Something that the environment gave breaks its contract.
    """
    config = load_config(config_id)
    vec_steps = DEFAULT_VEC_STEPS if timesteps is None else max(1, timesteps // N_ENVS)
    episodes = 0
    ways = _ways_to_run(family_of(config.env_id))
    for vectorization, render_mode in ways:
        env = build_env_from_config(
            config, n_envs=N_ENVS, vectorization=vectorization, render_mode=render_mode
        )
        try:
            episodes += _play(env, vec_steps)
            if render_mode is not None:
                size = _check_frames(env.render())
        finally:
            env.close()
    return (
        f"{len(ways)} x {vec_steps} vector steps, {counted(episodes, 'episode')}, frames of {size}"
    )


def _ways_to_run(family: Family) -> tuple[tuple[str, str | None], ...]:
    """Return pairs of vectorization and render mode; the first one renders."""
    if family.one_per_process:
        return (("async", "rgb_array"),)
    own = () if family.native is None else (("auto", None),)
    return (("sync", "rgb_array"), ("async", None), *own)


def _play(env: BaseVectorEnv, vec_steps: int) -> int:
    observation, _ = env.reset(seed=0)
    _check_observation(env, observation)
    episodes = 0
    for _ in range(vec_steps):
        observation, reward, terminated, truncated, infos = env.step(env.action_space.sample())
        _check_observation(env, observation)
        assert np.isfinite(reward).all(), f"reward {reward}"
        assert not (terminated & truncated).any(), "an episode both terminated and truncated"
        done = terminated | truncated
        assert done.any() == ("final_obs" in infos), "final_obs without an end, or the reverse"
        episodes += int(done.sum())
    return episodes


def _check_observation(env: BaseVectorEnv, observation: Any) -> None:
    assert observation in env.observation_space, (
        f"an observation is not in {env.single_observation_space}: {observation}"
    )


def _check_frames(frames: Any) -> str:
    assert frames is not None, "nothing was rendered"
    frame = np.asarray(frames[0])
    assert frame.dtype == np.uint8, frame.dtype
    assert frame.ndim == 3, frame.shape
    assert frame.shape[2] == 3, frame.shape
    assert frame.std() > 0, "the frame is of one colour"
    return f"{frame.shape[1]}x{frame.shape[0]}"
