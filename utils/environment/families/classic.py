"""The classic environments as arrays: vector instructions on the CPU, tensors on any device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from gym_envs.arguments import find_unfit
from utils.environment.families.standard import why_another
from utils.errors import ConfigError

if TYPE_CHECKING:
    from gym_envs.simd import SimdVectorEnv
    from gym_envs.torch_envs import TorchVectorEnv

_PACKAGE = "gymnasium.envs.classic_control"


def why_not_arrays(env_id: str, *, options: Mapping[str, Any]) -> str | None:
    """Say what keeps an environment from being built as arrays; None if nothing does.

    Args:
        env_id: Gymnasium id.
        options: Config key -> value of what changes the environment or its observations.
    """
    from gym_envs.physics import has_classic_spec, list_classic_specs

    if not has_classic_spec(env_id):
        known = ", ".join(spec.env_id for spec in list_classic_specs())
        return f"there are {known} only, not {env_id}"
    reason = why_another(gym.spec(env_id), package=_PACKAGE)
    if reason is not None:
        return reason
    unfit = find_unfit(options)
    return f"it takes no {', '.join(unfit)}" if unfit else None


def build_simd_env(
    env_id: str,
    *,
    n_envs: int,
    max_episode_steps: int | None,
    n_threads: int | None,
    options: Mapping[str, Any],
) -> SimdVectorEnv:
    """Build a vector environment that one compiled call steps.

    Args:
        env_id: Gymnasium id of a classic environment.
        n_envs: Number of environments, at least 1.
        max_episode_steps: Time limit in steps instead of the environment's own.
        n_threads: Threads that share the work; None for one.
        options: As for `why_not_arrays`.

    Raises:
        ConfigError: The environment or an option is not among what arrays can do.
    """
    _refuse_unfit("simd", env_id, options)
    from gym_envs.simd import SimdVectorEnv
    from gym_envs.simd.compilation import most_threads

    if n_threads is not None and n_threads > most_threads():
        raise ConfigError(
            f"n_workers: this machine has {most_threads()} cores (numba's threads), got {n_threads}"
        )
    return SimdVectorEnv(
        env_id,
        n_envs,
        max_episode_steps=max_episode_steps,
        copy=False,
        n_threads=n_threads or 1,
    )


def build_torch_env(
    env_id: str,
    *,
    n_envs: int,
    device: str,
    max_episode_steps: int | None,
    options: Mapping[str, Any],
) -> TorchVectorEnv:
    """Build a vector environment of tensors.

    Args:
        env_id: Gymnasium id of a classic environment.
        n_envs: Number of environments, at least 1.
        device: Where its tensors live.
        max_episode_steps: Time limit in steps instead of the environment's own.
        options: As for `why_not_arrays`.

    Raises:
        ConfigError: The environment or an option is not among what tensors can do.
    """
    _refuse_unfit("torch", env_id, options)
    from gym_envs.torch_envs import TorchVectorEnv

    return TorchVectorEnv(env_id, n_envs, device=device, max_episode_steps=max_episode_steps)


def _refuse_unfit(vectorization: str, env_id: str, options: Mapping[str, Any]) -> None:
    reason = why_not_arrays(env_id, options=options)
    if reason is not None:
        raise ConfigError(f"vectorization: {vectorization}: {reason}; use vectorization: auto")
