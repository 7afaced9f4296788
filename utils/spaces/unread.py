"""Settings that only some observation spaces give a meaning."""

from __future__ import annotations

from collections.abc import Collection

import gymnasium as gym

from utils.spaces.encoding import is_picture


def unread_settings(
    space: gym.Space, *, of_pictures: Collection[str], of_numbers: Collection[str] = ()
) -> dict[str, str]:
    """Return the settings that nothing reads for an observation space, and why not.

    Args:
        space: Single observation space.
        of_pictures: Names of settings that are read only where it holds a picture.
        of_numbers: Names of settings that are read only where it holds something else.
    """
    is_dict = isinstance(space, gym.spaces.Dict)
    parts = list(space.spaces.values()) if is_dict else [space]
    n_pictures = sum(map(is_picture, parts))
    unread = {}
    if n_pictures == 0:
        unread |= dict.fromkeys(of_pictures, "it holds no picture for convolutions")
    if n_pictures == len(parts):
        unread |= dict.fromkeys(of_numbers, "it holds nothing but pictures")
    return unread


def unread_faults(space: gym.Space, unread: dict[str, str], written: Collection[str]) -> list[str]:
    """Say of each setting of `policy_kwargs` that somebody wrote that nothing reads it.

    Args:
        space: Single observation space.
        unread: What `unread_settings` returned.
        written: Names of the settings that somebody wrote.
    """
    shown = " ".join(str(space).split())
    return [
        f"'policy_kwargs.{name}' has no effect on the observation space {shown}: {reason}"
        for name, reason in unread.items()
        if name in written
    ]
