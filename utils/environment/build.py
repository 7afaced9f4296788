"""Builds a vector env from an id and options, or from a config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gym_wrappers import EnvWrapperRegistry
from utils.environment.families import classic, standard
from utils.environment.recipe import EnvRecipe
from utils.errors import ConfigError
from utils.vector_envs import (
    BaseVectorEnv,
    InProcessVectorEnv,
    ObservationOptions,
    SubprocessVectorEnv,
)

if TYPE_CHECKING:
    from gym_envs.simd import SimdVectorEnv
    from gym_envs.torch_envs import TorchVectorEnv

_CHOICES = ("auto", "sync", "async", "native", "simd", "torch")


def build_env(  # noqa: PLR0913 - one keyword per config key
    env_id: str,
    *,
    n_envs: int,
    vectorization: str = "auto",
    env_kwargs: Mapping[str, Any] | None = None,
    env_wrappers: Sequence[Mapping[str, Any]] = (),
    max_episode_steps: int | None = None,
    grayscale_obs: bool = False,
    resize_obs: Sequence[int] | None = None,
    frame_stack: int = 1,
    channel_order: str = "auto",
    render_mode: str | None = None,
    n_workers: int | None = None,
    start_method: str = "spawn",
    env_timeout_seconds: float = 60.0,
    device: str = "cpu",
) -> BaseVectorEnv | SimdVectorEnv | TorchVectorEnv:
    """Build a vector env.

    Args:
        env_id: Gymnasium id, `package.module:Id-v0` where a module registers it.
        n_envs: Number of environments, at least 1.
        vectorization: "sync" steps them in this process, "async" in worker processes, "simd" the
            classic ones in one compiled call; "torch" keeps those as tensors on `device`; "auto"
            takes "simd" where it does the same, processes for environments so slow that they pay,
            else "sync". "native" is for families with vector environments of their own.
        env_kwargs: Arguments of the environment's constructor.
        env_wrappers: `{id: Name, **kwargs}` each, innermost first.
        max_episode_steps: Time limit in steps instead of the environment's own.
        grayscale_obs: Reduce RGB pictures to one channel.
        resize_obs: New (height, width) of pictures in pixels.
        frame_stack: Number of latest observations joined along the first axis, oldest first.
        channel_order: "first", "last", "none" (not a picture) or "auto".
        render_mode: Passed to the environment; "simd" and "torch" become "sync" then.
        n_workers: Number of worker processes ("async"; None takes one per core, at most n_envs) or
            of threads ("simd"; None takes one).
        start_method: "spawn", "forkserver" or "fork" ("async").
        env_timeout_seconds: Longest time that a reset or step may take ("async").
        device: Where the environments live ("torch").

    Raises:
        ConfigError: An unknown id, wrapper or argument, or an option that does not fit.
        MissingDependencyError: An optional package is needed.
    """
    options = classic.changed_options(
        env_kwargs=env_kwargs,
        env_wrappers=env_wrappers,
        grayscale_obs=grayscale_obs,
        resize_obs=resize_obs,
        frame_stack=frame_stack,
        channel_order=channel_order,
    )
    chosen = _resolve_vectorization(
        vectorization, env_id=env_id, n_envs=n_envs, render_mode=render_mode, options=options
    )
    array_arguments = {
        "n_envs": n_envs,
        "max_episode_steps": max_episode_steps,
        "options": options,
    }
    if chosen == "torch":
        return classic.build_torch_env(env_id, device=device, **array_arguments)
    if chosen == "simd":
        return classic.build_simd_env(env_id, n_threads=n_workers, **array_arguments)
    spec = standard.find_spec(env_id)
    recipe = EnvRecipe(
        spec=spec,
        env_kwargs=dict(env_kwargs or {}),
        wrappers=tuple(EnvWrapperRegistry.resolve(entry) for entry in env_wrappers),
        max_episode_steps=max_episode_steps,
        render_mode=render_mode,
    )
    shared = {
        "env_id": env_id,
        "options": ObservationOptions(
            grayscale=grayscale_obs,
            resize=None if resize_obs is None else (int(resize_obs[0]), int(resize_obs[1])),
            frame_stack=frame_stack,
            channel_order=channel_order,
        ),
        "timeout_sets_terminated": standard.timeout_sets_terminated(env_id),
    }
    if chosen == "sync":
        return InProcessVectorEnv([recipe] * n_envs, **shared)
    return SubprocessVectorEnv(
        [recipe] * n_envs,
        **shared,
        n_workers=n_workers,
        start_method=start_method,
        env_timeout_seconds=env_timeout_seconds,
    )


def build_env_from_config(
    config: Any,
    *,
    n_envs: int | None = None,
    render_mode: str | None = None,
    vectorization: str | None = None,
    max_episode_steps: int | None = None,
) -> BaseVectorEnv | SimdVectorEnv | TorchVectorEnv:
    """Build the vector env of a config, the same for training, evaluation, play and inspection.

    Args:
        config: Has the attributes that `build_env` takes as keywords.
        n_envs: Replaces `config.n_envs`.
        render_mode: Passed to the environment.
        vectorization: Replaces `config.vectorization`.
        max_episode_steps: Replaces `config.max_episode_steps`.

    Raises:
        ConfigError: As `build_env`.
    """
    return build_env(
        config.env_id,
        n_envs=config.n_envs if n_envs is None else n_envs,
        vectorization=config.vectorization if vectorization is None else vectorization,
        env_kwargs=config.env_kwargs,
        env_wrappers=config.env_wrappers,
        max_episode_steps=(
            config.max_episode_steps if max_episode_steps is None else max_episode_steps
        ),
        grayscale_obs=config.grayscale_obs,
        resize_obs=config.resize_obs,
        frame_stack=config.frame_stack,
        channel_order=config.channel_order,
        render_mode=render_mode,
        n_workers=config.n_workers,
        start_method=config.start_method,
        env_timeout_seconds=config.env_timeout_seconds,
        device=config.device,
    )


def _resolve_vectorization(
    vectorization: str,
    *,
    env_id: str,
    n_envs: int,
    render_mode: str | None,
    options: Mapping[str, Any],
) -> str:
    """Return "sync", "async", "simd" or "torch"."""
    if vectorization not in _CHOICES:
        raise ConfigError(f"vectorization: '{vectorization}' is not one of {', '.join(_CHOICES)}")
    if vectorization == "native":
        raise ConfigError(
            "vectorization: native: no environment here ships a vector environment of its own yet; "
            "use vectorization: auto"
        )
    if render_mode is not None and vectorization in ("auto", "simd", "torch"):
        return "sync"  # arrays have no pictures
    if vectorization != "auto":
        return vectorization
    if classic.why_not_arrays(env_id, options=options) is None:
        return "simd"
    return "async" if n_envs > 1 and standard.is_slow(env_id) else "sync"
