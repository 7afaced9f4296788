"""Small buffers of random episodes, in every place that arrays may lie in."""

from __future__ import annotations

import pytest
import torch

from tests.helpers.slow_replay import RandomEpisodes
from utils.buffers import TransitionBuffer, TransitionLayout

N_ENVS = 3
WHERE = [
    "cpu",
    "disk",
    "cpu with tensor operations",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
        ],
    ),
]


def build_buffer(
    episodes: RandomEpisodes, *, capacity: int = 30, n_step: int = 1, gamma: float = 0.9, **layout
) -> TransitionBuffer:
    place = layout.pop("place", None)
    return TransitionBuffer(
        TransitionLayout(
            capacity=capacity,
            n_envs=episodes.n_envs,
            observation_space=episodes.observation_space,
            action_space=episodes.action_space,
            frame_stack=episodes.frame_stack,
            **layout,
        ),
        n_step=n_step,
        gamma=gamma,
        place=place,
    )


def all_names(buffer: TransitionBuffer) -> torch.Tensor:
    """Names of all that is held, oldest first."""
    n = buffer.layout.n_envs
    return torch.arange(buffer.head * n - len(buffer), buffer.head * n)


def fill_randomly(buffer: TransitionBuffer, episodes: RandomEpisodes, n: int) -> None:
    buffer.begin(episodes.begin(range(episodes.n_envs)))
    for step in episodes.steps(n):
        buffer.add(**step._asdict())
