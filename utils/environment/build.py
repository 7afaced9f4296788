"""Builds a vector env from an id and options, or from a config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gym_wrappers import EnvWrapperRegistry
from utils.environment.families import classic, standard
from utils.environment.families.family import Family, load
from utils.environment.families.table import family_of
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
    action_masks: bool = False,
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
            takes "simd" or "native" where they do the same, processes for environments that are
            slow or cannot share one, else "sync". "native" is the vector environment that the
            family ships itself.
        env_kwargs: Arguments of the environment's constructor.
        env_wrappers: `{id: Name, **kwargs}` each, innermost first.
        max_episode_steps: Time limit in steps instead of the environment's own.
        grayscale_obs: Reduce RGB pictures to one channel.
        resize_obs: New (height, width) of pictures in pixels.
        frame_stack: Number of latest observations joined along the first axis, oldest first.
        channel_order: "first", "last", "none" (not a picture) or "auto".
        action_masks: Every environment tells in its info which actions it allows ("sync", "async").
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
    options = {
        "env_kwargs": dict(env_kwargs or {}),
        "env_wrappers": tuple(env_wrappers),
        "grayscale_obs": grayscale_obs,
        "resize_obs": resize_obs,
        "frame_stack": frame_stack,
        "channel_order": channel_order,
    } | ({"action_masks": True} if action_masks else {})
    family = family_of(env_id)
    family.make_known(env_id)
    chosen = _resolve_vectorization(
        vectorization,
        env_id=env_id,
        family=family,
        n_envs=n_envs,
        render_mode=render_mode,
        options=options,
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
    if chosen == "native":
        build_native = load(f"{family.native}:build_native")
        return build_native(env_id, n_threads=n_workers, **array_arguments)
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
        "timeout_sets_terminated": family.timeout_sets_terminated,
        "action_masks": action_masks,
    }
    if chosen == "sync":
        return InProcessVectorEnv([recipe] * n_envs, **shared)
    return SubprocessVectorEnv(
        [recipe] * n_envs,
        **shared,
        n_workers=n_envs if family.one_per_process else n_workers,
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
    family = family_of(config.env_id)
    if vectorization is None and config.vectorization == "sync" and family.one_per_process:
        raise ConfigError(
            f"vectorization: sync: {family.name} runs one environment in a process, and training "
            "and evaluation need two; use vectorization: auto"
        )
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
        action_masks=config.action_masks,
        render_mode=render_mode,
        n_workers=config.n_workers,
        start_method=config.start_method,
        env_timeout_seconds=config.env_timeout_seconds,
        device=config.device,
    )


def build_evaluation_env(config: Any) -> BaseVectorEnv | SimdVectorEnv | TorchVectorEnv:
    """Build the vector env in which a training run judges its policies, beside its own.

    There are `config.eval_n_envs` environments; where that is null, up to 16, or one where every
    environment takes a process of its own. Where training cuts episodes short by a limit of its
    own, a longer limit of evaluations takes its place.

    Raises:
        ConfigError: As `build_env`.
    """
    is_alone = family_of(config.env_id).one_per_process and config.eval_n_envs is None
    return build_env_from_config(
        config,
        n_envs=1 if is_alone else config.resolved_eval_n_envs,
        max_episode_steps=_longer(config.max_episode_steps, config.eval_max_episode_steps),
    )


def _longer(limit: int | None, other: int | None) -> int | None:
    """Return the longer of two limits; None where one is not set."""
    return None if limit is None or other is None else max(limit, other)


def _resolve_vectorization(
    vectorization: str,
    *,
    env_id: str,
    family: Family,
    n_envs: int,
    render_mode: str | None,
    options: Mapping[str, Any],
) -> str:
    """Return "sync", "async", "native", "simd" or "torch".

    Raises:
        ConfigError: What is asked for does not exist, or the family has no such thing.
    """
    if vectorization not in _CHOICES:
        raise ConfigError(f"vectorization: '{vectorization}' is not one of {', '.join(_CHOICES)}")
    if vectorization == "sync" and family.one_per_process and n_envs > 1:
        raise ConfigError(
            f"vectorization: sync: {family.name} runs one environment in a process, and n_envs is "
            f"{n_envs}; use vectorization: auto"
        )
    if vectorization in ("sync", "async"):
        return vectorization
    if vectorization == "native":
        reason = _why_not_native(family, env_id, options=options)
        if reason is not None:
            raise ConfigError(f"vectorization: native: {reason}; use vectorization: auto")
    if render_mode is not None:  # arrays have no pictures
        return "async" if family.one_per_process and n_envs > 1 else "sync"
    if vectorization != "auto":
        return vectorization
    return _fastest(env_id, family=family, n_envs=n_envs, options=options)


def _fastest(env_id: str, *, family: Family, n_envs: int, options: Mapping[str, Any]) -> str:
    if classic.why_not_arrays(env_id, options=options) is None:
        return "simd"
    if _why_not_native(family, env_id, options=options) is None:
        return "native"
    if family.one_per_process:
        return "async"  # the only way to train and to evaluate at once
    return "async" if n_envs > 1 and family.is_slow else "sync"


def _why_not_native(family: Family, env_id: str, *, options: Mapping[str, Any]) -> str | None:
    if family.native is None:
        return f"{family.name} ships no vector environment of its own"
    if options.get("action_masks"):
        return "it gives no action masks"
    return load(f"{family.native}:why_not_native")(env_id, options=options)
