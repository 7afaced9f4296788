"""From actions in [-1, 1] to those of a bounded Box."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from utils.errors import ConfigError


class ActionScale(nn.Module):
    """The affine map between [-1, 1] in every dimension and the bounds of a Box.

    Networks and replay buffers work in [-1, 1] and environments in their own units; this is the
    one place where the two meet.
    """

    def __init__(self, space: gym.spaces.Box, *, algorithm: str) -> None:
        """Read the bounds.

        Args:
            space: Single action space.
            algorithm: Named where the space is refused.

        Raises:
            ConfigError: A dimension without bounds, or none that float32 can tell apart from that:
                nothing can be scaled to it.
        """
        super().__init__()
        with np.errstate(over="ignore"):
            low, high = space.low.astype(np.float32), space.high.astype(np.float32)
            # Some spaces write "no bound" as the largest float; their span has no number.
            span = np.asarray(high - low)  # of a Box without dimensions it is a number
            open_ends = ~np.isfinite(span)
        if open_ends.any():
            places = ", ".join(str(i) for i in np.flatnonzero(open_ends.reshape(-1)))
            raise ConfigError(
                f"{algorithm} scales its actions to the bounds of the action space, and {space} "
                f"has none in dimension {places}: use ppo, or a wrapper that bounds them"
            )
        self.shape = tuple(space.shape)
        self.size = int(np.prod(space.shape))
        self.register_buffer("low", torch.from_numpy(low), persistent=False)
        self.register_buffer("half_span", torch.from_numpy(span) / 2.0, persistent=False)

    def to_env(self, action: Tensor) -> Tensor:
        """Map (B, A) or (B, *shape) in [-1, 1] to (B, *shape) in the environment's units."""
        shaped = action.reshape(action.shape[0], *self.shape)
        return self.low + (shaped + 1.0) * self.half_span

    def from_env(self, action: Tensor) -> Tensor:
        """Undo `to_env`: map (B, *shape) in the environment's units to (B, A) in [-1, 1]."""
        span = torch.where(self.half_span > 0.0, self.half_span, 1.0)
        return ((action - self.low) / span - 1.0).reshape(len(action), -1).clamp(-1.0, 1.0)
