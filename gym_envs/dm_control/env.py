"""One task of the DeepMind Control Suite (Tassa et al. 2018, arXiv:1801.00690)."""

from __future__ import annotations

import inspect
import math
from typing import Any

import gymnasium as gym
import numpy as np
from dm_control import suite
from gymnasium import spaces
from typing_extensions import override

from utils.errors import ConfigError

_SEEDS = 2**32


class DMControlEnv(gym.Env):
    """A task of the suite with numbers or pictures as observations.

    The numbers are one float32 vector: the suite's observations in sorted order of their names.
    An episode is truncated at its time limit, as the suite means it, and terminated only where the
    task gives a last step the discount 0. Every episode draws its start from `np_random`.
    """

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - completed by each task

    def __init__(  # noqa: PLR0913 - one argument per key of env_kwargs
        self,
        *,
        domain: str,
        task: str,
        action_repeat: int = 1,
        from_pixels: bool = False,
        height: int = 84,
        width: int = 84,
        camera: int | str = 0,
        max_steps: int | None = None,
        render_mode: str | None = None,
        render_height: int = 240,
        render_width: int = 320,
    ) -> None:
        """Build the task.

        Args:
            domain: Such as "walker".
            task: Such as "walk".
            action_repeat: Steps of the suite for each step here, >= 1; their rewards are summed.
            from_pixels: Observations are pictures, uint8 (height, width, 3).
            height: Of those pictures, pixels.
            width: Of those pictures, pixels.
            camera: Number or name of the camera of all pictures.
            max_steps: Steps here after which an episode is truncated; None for the task's own
                limit, 1000 steps of the suite nearly everywhere.
            render_mode: "rgb_array" or None.
            render_height: Of the pictures that `render` returns, pixels.
            render_width: Of the pictures that `render` returns, pixels.

        Raises:
            ConfigError: A number is out of its range, the camera is not there, or the task has no
                limit and none is given.
        """
        counts = {"action_repeat": action_repeat, "height": height, "width": width}
        counts |= {"render_height": render_height, "render_width": render_width}
        _check_counts(counts if max_steps is None else {**counts, "max_steps": max_steps})
        # Without a limit of its own: the suite would not tell its end from the task's.
        endless = {"time_limit": math.inf}
        self._suite_env = suite.load(domain, task, task_kwargs={**endless, "random": 0})
        self.physics = self._suite_env.physics
        self.max_steps = max_steps or self._own_limit(domain, task, action_repeat)
        self._action_repeat = action_repeat
        self._is_picture = from_pixels
        self._picture = {"height": height, "width": width, "camera_id": camera}
        self._check_camera(camera, f"dm_control/{domain}-{task}")
        self._check_sizes(counts)
        self._frame = {"height": render_height, "width": render_width, "camera_id": camera}
        self.render_mode = render_mode
        step_seconds = self._suite_env.control_timestep() * action_repeat
        self.metadata = {**self.metadata, "render_fps": round(1 / step_seconds)}
        self.observation_space = self._build_observation_space()
        bounds = self._suite_env.action_spec()
        self.action_space = spaces.Box(
            bounds.minimum.astype(np.float32), bounds.maximum.astype(np.float32), dtype=np.float32
        )
        self._n_steps = 0

    def _own_limit(self, domain: str, task: str, action_repeat: int) -> int:
        """Return the task's own limit in steps of this environment."""
        module = inspect.getmodule(self._suite_env.task)
        parameters = inspect.signature(module.SUITE[task]).parameters
        seconds = parameters["time_limit"].default
        if not math.isfinite(seconds):
            raise ConfigError(
                f"dm_control/{domain}-{task} has no time limit: set max_episode_steps"
            )
        steps = round(seconds / self._suite_env.control_timestep())
        return math.ceil(steps / action_repeat)

    def _check_camera(self, camera: int | str, env_id: str) -> None:
        model = self.physics.model
        names = [model.id2name(i, "camera") for i in range(model.ncam)]
        # -1 is the free camera, which every model has.
        if camera not in names and camera not in range(-1, model.ncam):
            named = f" or one of {', '.join(filter(None, names))}" if any(names) else ""
            raise ConfigError(
                f"env_kwargs: {env_id} has no camera {camera!r}: it is a number from -1 to "
                f"{model.ncam - 1}{named}"
            )

    def _check_sizes(self, sizes: dict[str, int]) -> None:
        """Refuse pictures that the model's off-screen buffer has no room for."""
        buffer = self.physics.model.vis.global_
        for name, value in sizes.items():
            most = {"height": buffer.offheight, "width": buffer.offwidth}.get(name.split("_")[-1])
            if most is not None and value > most:
                raise ConfigError(f"env_kwargs: {name} must be at most {most} pixels, got {value}")

    def _build_observation_space(self) -> spaces.Box:
        if self._is_picture:
            shape = (self._picture["height"], self._picture["width"], 3)
            return spaces.Box(0, 255, shape, np.uint8)
        specs = self._suite_env.observation_spec()
        self._keys = sorted(specs)
        n = sum(int(np.prod(specs[key].shape)) for key in self._keys)
        return spaces.Box(-np.inf, np.inf, (n,), np.float32)

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        # The task's generator is of numpy's old kind, which nothing here saves.
        self._suite_env.task.random.seed(int(self.np_random.integers(_SEEDS)))
        time_step = self._suite_env.reset()
        self._n_steps = 0
        return self._observe(time_step.observation), {}

    @override
    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward = 0.0
        for _ in range(self._action_repeat):
            time_step = self._suite_env.step(action)
            reward += time_step.reward
            if time_step.step_type == 2:  # the last of an episode
                break
        self._n_steps += 1
        is_last = time_step.step_type == 2
        terminated = is_last and time_step.discount == 0.0
        truncated = not terminated and (is_last or self._n_steps >= self.max_steps)
        return self._observe(time_step.observation), reward, terminated, truncated, {}

    def _observe(self, parts: dict[str, Any]) -> np.ndarray:
        if self._is_picture:
            return self.physics.render(**self._picture)
        return np.concatenate(
            [np.ravel(parts[key]) for key in self._keys], dtype=np.float32, casting="same_kind"
        )

    @override
    def render(self) -> np.ndarray | None:
        """Return a picture (render_height, render_width, 3) uint8."""
        return None if self.render_mode is None else self.physics.render(**self._frame)

    @override
    def close(self) -> None:
        self._suite_env.close()


def _check_counts(counts: dict[str, Any]) -> None:
    for name, value in counts.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ConfigError(f"env_kwargs: {name} must be a whole number >= 1, got {value!r}")
