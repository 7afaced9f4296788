"""What warm-ups of agents that learn from replay have in common."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from utils.buffers import TransitionBuffer


def fill_tiny(buffer: TransitionBuffer) -> TransitionBuffer:
    """Return a buffer like another with two vector steps of zeros, the second one an end."""
    layout = dataclasses.replace(buffer.layout, capacity=4 * buffer.layout.n_envs)
    tiny = TransitionBuffer(layout, n_step=buffer.n_step, gamma=buffer.gamma)
    n, space = layout.n_envs, layout.observation_space
    shown = np.zeros((n, *space.shape), dtype=space.dtype)
    action = torch.zeros((n, *layout.action_shape), dtype=layout.action_dtype)
    tiny.begin(shown)
    for is_end in (False, True):
        tiny.add(
            action=action,
            reward=np.zeros(n),
            terminated=np.full(n, is_end),
            truncated=np.zeros(n, dtype=bool),
            next_observation=shown,
            final_observation=shown if is_end else None,
        )
    return tiny
