"""Arguments of the vector environments, checked for other programs that build them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from gym_envs.physics import ClassicSpec, classic_spec, has_classic_spec, list_classic_specs
from utils.errors import ConfigError


def find_classic_spec(env_id: str) -> ClassicSpec:
    """Return the spec of an environment id.

    Raises:
        NameNotFound: There is none; the nearest ids are named.
    """
    if has_classic_spec(env_id):
        return classic_spec(env_id)
    known = [spec.env_id for spec in list_classic_specs()]
    near = difflib.get_close_matches(str(env_id), known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    raise gym.error.NameNotFound(f"there is no '{env_id}' among the classic environments: {hint}")


# Values that ask for nothing, beside those that are false or empty.
_NEUTRAL: dict[str, tuple[Any, ...]] = {"frame_stack": (1,), "channel_order": ("auto", "none")}


def find_unfit(options: Mapping[str, Any], *, known: Collection[str] = ()) -> list[str]:
    """Return the options that ask for something a vector environment of arrays does not do.

    Args:
        options: Config key -> value of what changes an environment or its observations.
        known: Keys that it can be told.
    """
    return [
        key
        for key, value in options.items()
        if key not in known and value and value not in _NEUTRAL.get(key, ())
    ]


def check_one_thread(env_id: str, n_threads: int | None) -> None:
    """Refuse threads for environments that single array operations step.

    Raises:
        ConfigError: There would be more than one.
    """
    if n_threads is not None and n_threads > 1:
        raise ConfigError(
            f"n_workers: {env_id} is stepped by one thread, got {n_threads}: leave n_workers out, "
            "or use vectorization: async for worker processes"
        )


def check_sizes(num_envs: Any, max_episode_steps: Any) -> None:
    """Refuse numbers of environments or steps that are not whole and positive.

    Raises:
        ValueError: It names the argument.
    """
    sizes = {"num_envs": num_envs}
    if max_episode_steps is not None:
        sizes["max_episode_steps"] = max_episode_steps
    for name, value in sizes.items():
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")


def read_actions(actions: Any, space: gym.Space) -> np.ndarray:
    """Return actions as a contiguous array of a batched space's shape and dtype.

    Raises:
        ValueError: Another shape, or numbers of another kind.
    """
    actions = np.asarray(actions)
    if actions.shape != space.shape:
        raise ValueError(f"actions must have shape {space.shape}, got {actions.shape}")
    if not np.can_cast(actions.dtype, space.dtype, "same_kind"):
        raise ValueError(f"actions must be {space.dtype}, got {actions.dtype}")
    # Compiled code takes arrays that may be written only, though it writes none of them.
    requirements = ("C_CONTIGUOUS", "WRITEABLE")
    return np.require(actions, dtype=space.dtype, requirements=requirements)


def outside(actions: np.ndarray, n_actions: int) -> ValueError:
    """Build the error for discrete actions that there are not."""
    low, high = actions.min(), actions.max()
    return ValueError(f"actions must be 0 to {n_actions - 1}, got {low} to {high}")


def read_reset_mask(mask: Any, n_envs: int) -> np.ndarray:
    """Check `options["reset_mask"]`: which of the environments a reset is for, (n_envs,) bool.

    Raises:
        TypeError: It is no array of bools.
        ValueError: It is of another shape, or nowhere true.
    """
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise TypeError(f"options['reset_mask'] must be a bool array, got {mask!r}")
    if mask.shape != (n_envs,) or not mask.any():
        raise ValueError(
            f"options['reset_mask'] must have shape ({n_envs},) and a true value, got "
            f"shape {mask.shape}"
        )
    return mask


def take_seed(seed: int | None, *action_spaces: gym.Space) -> int:
    """Return the number that random words are made from; a given one seeds action spaces too.

    Args:
        seed: None for a number of the system's, never of NumPy's global generator.
        action_spaces: Seeded only with a number that was given.

    Raises:
        Error: It is negative.
    """
    if seed is None:
        return int(np.random.SeedSequence().entropy)
    if seed < 0:
        raise gym.error.Error(f"seed must be a whole number >= 0, got {seed}")
    for space in action_spaces:
        space.seed(int(seed))
    return int(seed)
