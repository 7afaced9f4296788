"""From what a policy chose to what an environment takes."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from utils.errors import ConfigError


class ActionAdapter:
    """Convert batches of policy actions to environment actions; the stored action stays as it was.

    Discrete choices count from 0 in the policy and from `start` in the environment. Continuous
    actions are clipped to finite bounds, dimension by dimension, here and nowhere else.
    """

    def __init__(self, space: gym.Space) -> None:
        """Read the offset or the bounds of `space`.

        Args:
            space: The single action space.

        Raises:
            ConfigError: The space is of a kind that policies cannot act in.
        """
        self.space = space
        self._offset: np.ndarray | int | None = None
        self._low: np.ndarray | None = None
        self._high: np.ndarray | None = None
        match space:
            case gym.spaces.Discrete():
                self._offset = int(space.start) or None
                self._dtype = np.dtype(space.dtype)
            case gym.spaces.MultiDiscrete():
                if space.nvec.ndim != 1:
                    raise ConfigError(f"action space {space}: only one-dimensional MultiDiscrete")
                self._offset = space.start if space.start.any() else None
                self._dtype = np.dtype(space.dtype)
            case gym.spaces.MultiBinary():
                self._dtype = np.dtype(space.dtype)
            case gym.spaces.Box() if np.issubdtype(space.dtype, np.floating):
                self._dtype = np.dtype(space.dtype)
                if space.is_bounded("below") or np.isfinite(space.low).any():
                    self._low = space.low
                if space.is_bounded("above") or np.isfinite(space.high).any():
                    self._high = space.high
            case _:
                raise ConfigError(
                    f"action space {space} is not supported: "
                    "use Discrete, MultiDiscrete, MultiBinary or a Box of floats"
                )

    def to_env(self, action: np.ndarray) -> np.ndarray:
        """Return the actions for the environment.

        Args:
            action: (N, ...) as the policy drew them.

        Returns:
            (N, ...) in the dtype of the space, a new array unless nothing had to change.
        """
        # np.clip costs several times what its two halves do for a few numbers.
        if self._low is not None:
            action = np.maximum(action, self._low)
        if self._high is not None:
            action = np.minimum(action, self._high)
        if self._offset is not None:
            action = action + self._offset
        return action if action.dtype == self._dtype else action.astype(self._dtype)
