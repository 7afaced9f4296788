"""The classic environments as tensors, on the device where the agent learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from utils.errors import ConfigError

if TYPE_CHECKING:
    from gym_envs.torch_envs import TorchVectorEnv


def why_not_torch(env_id: str, *, options: Mapping[str, Any]) -> str | None:
    """Say what keeps an environment from being built of tensors; None if nothing does.

    Args:
        env_id: Gymnasium id.
        options: Config key -> value of what changes the environment or its observations; a value
            that is false or empty asks for nothing.
    """
    from gym_envs.physics import has_classic_spec, list_classic_specs

    if not has_classic_spec(env_id):
        known = ", ".join(spec.env_id for spec in list_classic_specs())
        return f"there are {known} only, not {env_id}"
    unfit = [key for key, value in options.items() if value]
    return f"it takes no {', '.join(unfit)}" if unfit else None


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
        options: As for `why_not_torch`.

    Raises:
        ConfigError: The environment or an option is not among what tensors can do.
    """
    from gym_envs.torch_envs import TorchVectorEnv

    reason = why_not_torch(env_id, options=options)
    if reason is not None:
        raise ConfigError(f"vectorization: torch: {reason}; use vectorization: auto")
    return TorchVectorEnv(env_id, n_envs, device=device, max_episode_steps=max_episode_steps)


def changed_options(
    *,
    env_kwargs: Mapping[str, Any] | None,
    env_wrappers: Sequence[Mapping[str, Any]],
    grayscale_obs: bool,
    resize_obs: Sequence[int] | None,
    frame_stack: int,
) -> dict[str, Any]:
    """Return the options as `why_not_torch` reads them."""
    return {
        "env_kwargs": env_kwargs,
        "env_wrappers": env_wrappers,
        "grayscale_obs": grayscale_obs,
        "resize_obs": resize_obs,
        "frame_stack": frame_stack > 1,
    }
