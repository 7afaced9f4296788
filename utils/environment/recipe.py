"""How one environment is built: a plain value that travels to worker processes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from gym_wrappers import EnvWrapperRegistry
from utils.environment.display import draw_into_memory
from utils.environment.families.standard import make_env


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvRecipe:
    """Builds one environment when called, in any process.

    It carries the registered spec and the wrapper classes themselves, so a worker process needs
    neither registry: unpickling imports the modules that they live in.

    Attributes:
        spec: Gymnasium's spec of the environment.
        env_kwargs: Arguments of the environment's constructor.
        wrappers: Wrapper classes and their arguments, innermost first.
        max_episode_steps: Replaces the spec's time limit; None keeps it.
        render_mode: Passed to the environment; None leaves it out.
    """

    spec: EnvSpec
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    wrappers: tuple[tuple[type[gym.Wrapper], dict[str, Any]], ...] = ()
    max_episode_steps: int | None = None
    render_mode: str | None = None

    def __call__(self) -> gym.Env:
        """Build the environment with its time limit, then the wrappers around it.

        Raises:
            ConfigError: The environment cannot be built from these values.
            MissingDependencyError: It needs an optional package.
        """
        spec = copy.copy(self.spec)
        # A vector env always resets before it steps, so a check in every step is left out.
        spec.order_enforce = False
        kwargs = copy.deepcopy(self.env_kwargs)
        render_mode = self.render_mode or self._needed_render_mode()
        if render_mode == "rgb_array":
            draw_into_memory()
        if render_mode is not None:
            kwargs["render_mode"] = render_mode
        env = make_env(spec, max_episode_steps=self.max_episode_steps, kwargs=kwargs)
        try:
            for wrapper, arguments in self.wrappers:
                env = EnvWrapperRegistry.wrap(env, wrapper, arguments)
        except BaseException:
            env.close()  # an engine or emulator would run on
            raise
        return env

    def _needed_render_mode(self) -> str | None:
        """Return the mode that a wrapper cannot do without, by its class attribute."""
        modes = (getattr(wrapper, "needs_render_mode", None) for wrapper, _ in self.wrappers)
        return next((mode for mode in modes if mode is not None), None)
