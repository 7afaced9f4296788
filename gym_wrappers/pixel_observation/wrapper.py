"""Shows pictures of the environment in place of its observation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import ConfigError


class PixelObservation(gym.ObservationWrapper):
    """Shows what the environment draws, (H, W, 3) uint8, and nothing else.

    The environment is built with the render mode "rgb_array". `resize_obs`, `grayscale_obs` and
    `frame_stack` of a config work on these pictures as on any others; a single picture hides
    velocities, so a task that needs them wants a stack.
    """

    needs_render_mode = "rgb_array"

    def __init__(self, env: gym.Env) -> None:
        """Wrap `env` and draw one picture, to learn its size.

        Raises:
            ConfigError: The environment does not draw, draws into a window, or draws no picture.
        """
        super().__init__(env)
        name = type(env.unwrapped).__name__ if env.spec is None else env.spec.id
        if env.render_mode != "rgb_array":
            raise ConfigError(
                f"env_wrappers: PixelObservation needs {name} with render_mode rgb_array, not "
                f"{env.render_mode}: a window cannot be had beside it (play into a video)"
            )
        env.reset(seed=0)
        frame = env.render()
        if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8 or frame.ndim != 3:
            raise ConfigError(f"env_wrappers: PixelObservation: {name} draws no colour picture")
        self.observation_space = gym.spaces.Box(0, 255, frame.shape, np.uint8)

    @override
    def observation(self, observation: Any) -> np.ndarray:
        del observation
        return self.env.render()
