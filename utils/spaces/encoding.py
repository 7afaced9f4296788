"""How wide an observation is once it is encoded, and which boxes are pictures."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch

from utils.errors import ConfigError

NATURE_CNN_MIN_SIDE = 36
"""Smallest height and width that the three strided layers of the Nature CNN reduce to >= 1."""


def is_picture(space: gym.Space) -> bool:
    """Say whether a space holds pictures for a CNN: uint8, 0 to 255, (C, H, W), sides >= 36.

    The space decides, never the dtype or range of a value, so acting and training cannot differ.
    A grid of symbols comes as a vector (`channel_order: none`) and goes to an MLP, unscaled.
    """
    return _looks_like_picture(space) and min(space.shape[1:]) >= NATURE_CNN_MIN_SIDE


def _looks_like_picture(space: gym.Space) -> bool:
    return (
        isinstance(space, gym.spaces.Box)
        and space.dtype == np.uint8
        and len(space.shape) == 3
        and bool((space.low == 0).all() and (space.high == 255).all())
    )


def check_picture_size(space: gym.Space) -> None:
    """Refuse a picture that the CNN cannot read rather than feed bytes to an MLP.

    Raises:
        ConfigError: A uint8 (C, H, W) box of 0 to 255 with a side below 36.
    """
    if _looks_like_picture(space) and not is_picture(space):
        raise ConfigError(
            f"observations of shape {space.shape} (channels, height, width) are too small for the "
            f"CNN, which needs sides of at least {NATURE_CNN_MIN_SIDE}: enlarge them with "
            "resize_obs, or set channel_order: none if they are a grid of symbols"
        )


def encoded_width(space: gym.Space) -> int:
    """Return how many numbers a value of `space` becomes at the input of an MLP.

    Discrete and MultiDiscrete count their one-hot width; a picture has none (a CNN reads it).
    The same rule sizes the network and encodes the values.

    Raises:
        ConfigError: The space is of a kind that policies cannot read.
    """
    match space:
        case gym.spaces.Discrete():
            return int(space.n)
        case gym.spaces.MultiDiscrete():
            return int(space.nvec.sum())
        case gym.spaces.MultiBinary() | gym.spaces.Box():
            return int(np.prod(space.shape, dtype=int))
        case gym.spaces.Dict():
            return sum(encoded_width(space[key]) for key in sorted(space.spaces))
    raise ConfigError(
        f"observation space {space} is not supported: "
        "use Box, Discrete, MultiDiscrete, MultiBinary or a Dict of these"
    )


def torch_dtype(space: gym.Space) -> torch.dtype:
    """Return the dtype in which values of `space` are stored: float32, uint8 or int64."""
    if isinstance(space, gym.spaces.Box):
        if space.dtype == np.uint8:
            return torch.uint8
        return torch.int64 if np.issubdtype(space.dtype, np.integer) else torch.float32
    return torch.int64
