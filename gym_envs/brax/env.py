"""One environment of Brax as a Gymnasium environment.

For playing, judging and filming. Brax itself steps thousands of environments in one call, which is
how policies are trained (`scripts/brax_train_policy.py`); a call for one costs some 0.2 ms.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from typing_extensions import override

from utils.errors import ConfigError, MissingDependencyError

BACKENDS = ("generalized", "mjx", "positional", "spring")
_HEIGHT, _WIDTH = 240, 320
_AMBIENT, _DIFFUSE = 0.5, 0.8


class _Compiled(NamedTuple):
    """An environment of Brax and its two functions, compiled once for all that are alike."""

    env: Any
    reset: Callable[[Any], Any]
    step: Callable[[Any, Any], Any]


class BraxEnv(gym.Env):
    """Actions in [-1, 1], which Brax scales to its actuators; observations without bounds."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self, name: str, *, backend: str = "generalized", render_mode: str | None = None
    ) -> None:
        """Build the environment; it is compiled at the first reset and step (some 20 s).

        Args:
            name: Of `brax.envs`.
            backend: Physics: generalized, mjx, positional or spring.
            render_mode: "rgb_array" for pictures of 240 x 320, else None.

        Raises:
            ConfigError: There is no such backend.
            MissingDependencyError: Brax or JAX is not installed.
        """
        if backend not in BACKENDS:
            raise ConfigError(f"backend: '{backend}' is not one of {', '.join(BACKENDS)}")
        self._compiled = _compile(name, backend)
        env = self._compiled.env
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": round(1.0 / float(env.dt))}
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (env.observation_size,))
        self.action_space = gym.spaces.Box(-1.0, 1.0, (env.action_size,))
        self._state: Any = None

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; the seed decides it."""
        import jax

        super().reset(seed=seed)
        del options
        key = jax.random.PRNGKey(int(self.np_random.integers(2**31)))
        self._state = self._compiled.reset(key)
        return np.asarray(self._state.obs), {}

    @override
    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Step; `info` holds what Brax measures, by name."""
        self._state = self._compiled.step(self._state, np.asarray(action, np.float32))
        state = self._state
        measured = {name: float(value) for name, value in state.metrics.items()}
        return np.asarray(state.obs), float(state.reward), bool(state.done), False, measured

    @override
    def render(self) -> np.ndarray | None:
        """Return a picture (240, 320, 3) uint8 of the present state."""
        if self.render_mode != "rgb_array":
            return None
        from brax.io import image

        picture = image.render_array(
            self._compiled.env.sys, self._state.pipeline_state, _HEIGHT, _WIDTH
        )
        return np.asarray(picture, np.uint8)


@functools.cache
def _compile(name: str, backend: str) -> _Compiled:
    try:
        import jax
        from brax import envs
    except ModuleNotFoundError as error:
        package = (error.name or "brax").partition(".")[0]
        raise MissingDependencyError(package, extra="brax", needed_for=f"brax/{name}") from error
    env = envs.get_environment(name, backend=backend)
    light = env.sys.mj_model.vis.headlight  # most of Brax's scenes have no lamp of their own
    light.ambient[:], light.diffuse[:] = _AMBIENT, _DIFFUSE
    return _Compiled(env, jax.jit(env.reset), jax.jit(env.step))
