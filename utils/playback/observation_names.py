"""Names of the numbers that a policy sees, and that a world model says of what it sees."""

from __future__ import annotations

import math
from collections.abc import Sequence

import gymnasium as gym

from utils.spaces import is_picture
from utils.vector_envs import InProcessVectorEnv


def frame_names(n_frames: int) -> list[str]:
    """Name stacked frames, oldest first."""
    return ["now" if k == 0 else f"{k} before" for k in range(n_frames - 1, -1, -1)]


def name_numbers(key: str, space: gym.Space, n_frames: int, labels: Sequence[str]) -> list[str]:
    """Name the numbers of one part of an observation.

    Args:
        key: Of the part; "" where it is the whole.
        space: With all stacked frames.
        n_frames: How many.
        labels: As the config names those of one frame; others than there are stay out.
    """
    size = math.prod(space.shape)
    per_frame = size // n_frames
    if len(labels) == per_frame:
        names = list(labels)
    elif space.shape == ():
        names = [key or "state"]
    else:
        names = [f"{key}[{k}]" if key else f"[{k}]" for k in range(per_frame)]
    if n_frames == 1:
        return names
    return [f"{name}, {when}" for when in frame_names(n_frames) for name in names]


def name_decoded_numbers(env: InProcessVectorEnv, labels: Sequence[str]) -> list[str]:
    """Name what a world model says of all that is no picture, in the order of its decoder.

    Args:
        env: Of the observations.
        labels: As the config names the numbers, or the values, of an observation of one part.
    """
    leaves = {steps.leaf.key: steps for steps in env.leaf_steps if not is_picture(steps.space)}
    known = labels if len(leaves) == 1 else ()
    numbers: list[str] = []
    choices: list[str] = []
    for key in sorted(leaves):
        space, n_frames = leaves[key].space, leaves[key].frame_stack
        if isinstance(space, gym.spaces.Discrete):
            values = range(int(space.start), int(space.start + space.n))
            words = known if len(known) == len(values) else values
            choices += [f"{key or 'state'} = {word}" for word in words]
            continue
        names = name_numbers(key, space, n_frames, known)
        if isinstance(space, gym.spaces.MultiDiscrete):
            sizes, starts = space.nvec.reshape(-1), space.start.reshape(-1)
            choices += [
                f"{name} = {start + k}"
                for name, size, start in zip(names, sizes, starts, strict=True)
                for k in range(size)
            ]
        else:
            numbers += names
    return numbers + choices
