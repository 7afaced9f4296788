"""What there is to know of each classic environment beside its equations."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

_PI = float(np.pi)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassicSpec:
    """Spaces, limits and the distribution of first states of one environment."""

    env_id: str
    module_name: str
    """Module of `gym_envs.physics` with `transition` and `observe`."""
    state_names: tuple[str, ...]
    initial_low: tuple[float, ...]
    """First states are uniform in [initial_low, initial_high), each variable by itself."""
    initial_high: tuple[float, ...]
    observation_low: tuple[float, ...]
    observation_high: tuple[float, ...]
    n_actions: int
    """Number of discrete actions; 0 where the action is one real number."""
    action_limit: float
    """Largest absolute action where it is a real number, else 0."""
    max_episode_steps: int
    reward_threshold: float | None
    render_fps: int

    @property
    def n_state(self) -> int:
        """Number of state variables."""
        return len(self.state_names)

    @property
    def n_observation(self) -> int:
        """Length of the observation."""
        return len(self.observation_low)

    @property
    def transition(self) -> Callable[..., Any]:
        """`transition(*state, action) -> (*state, reward, terminated)`."""
        return importlib.import_module(f"gym_envs.physics.{self.module_name}").transition

    @property
    def observe(self) -> Callable[..., Any]:
        """`observe(*state) -> observation`, a tuple."""
        return importlib.import_module(f"gym_envs.physics.{self.module_name}").observe

    def observation_space(self) -> spaces.Box:
        """Return the space of one observation, float32."""
        low, high = (
            np.array(bound, dtype=np.float32)
            for bound in (self.observation_low, self.observation_high)
        )
        return spaces.Box(low, high, dtype=np.float32)

    def action_space(self) -> spaces.Discrete | spaces.Box:
        """Return the space of one action."""
        if self.n_actions:
            return spaces.Discrete(self.n_actions)
        limit = np.array([self.action_limit], dtype=np.float32)
        return spaces.Box(-limit, limit, dtype=np.float32)


_SPECS = {
    spec.env_id: spec
    for spec in (
        ClassicSpec(
            env_id="CartPole-v1",
            module_name="cart_pole",
            state_names=("x", "x_dot", "theta", "theta_dot"),
            initial_low=(-0.05,) * 4,
            initial_high=(0.05,) * 4,
            observation_low=(-4.8, -np.inf, -24.0 * 2.0 * _PI / 360.0, -np.inf),
            observation_high=(4.8, np.inf, 24.0 * 2.0 * _PI / 360.0, np.inf),
            n_actions=2,
            action_limit=0.0,
            max_episode_steps=500,
            reward_threshold=475.0,
            render_fps=50,
        ),
        ClassicSpec(
            env_id="MountainCar-v0",
            module_name="mountain_car",
            state_names=("position", "velocity"),
            initial_low=(-0.6, 0.0),
            initial_high=(-0.4, 0.0),
            observation_low=(-1.2, -0.07),
            observation_high=(0.6, 0.07),
            n_actions=3,
            action_limit=0.0,
            max_episode_steps=200,
            reward_threshold=-110.0,
            render_fps=30,
        ),
        ClassicSpec(
            env_id="MountainCarContinuous-v0",
            module_name="mountain_car_continuous",
            state_names=("position", "velocity"),
            initial_low=(-0.6, 0.0),
            initial_high=(-0.4, 0.0),
            observation_low=(-1.2, -0.07),
            observation_high=(0.6, 0.07),
            n_actions=0,
            action_limit=1.0,
            max_episode_steps=999,
            reward_threshold=90.0,
            render_fps=30,
        ),
        ClassicSpec(
            env_id="Acrobot-v1",
            module_name="acrobot",
            state_names=("theta1", "theta2", "speed1", "speed2"),
            initial_low=(-0.1,) * 4,
            initial_high=(0.1,) * 4,
            observation_low=(-1.0, -1.0, -1.0, -1.0, -4.0 * _PI, -9.0 * _PI),
            observation_high=(1.0, 1.0, 1.0, 1.0, 4.0 * _PI, 9.0 * _PI),
            n_actions=3,
            action_limit=0.0,
            max_episode_steps=500,
            reward_threshold=-100.0,
            render_fps=15,
        ),
        ClassicSpec(
            env_id="Pendulum-v1",
            module_name="pendulum",
            state_names=("theta", "theta_dot"),
            initial_low=(-_PI, -1.0),
            initial_high=(_PI, 1.0),
            observation_low=(-1.0, -1.0, -8.0),
            observation_high=(1.0, 1.0, 8.0),
            n_actions=0,
            action_limit=2.0,
            max_episode_steps=200,
            reward_threshold=None,
            render_fps=30,
        ),
    )
}


def classic_spec(env_id: str) -> ClassicSpec:
    """Return the spec of an environment that has one."""
    assert env_id in _SPECS, (env_id, sorted(_SPECS))
    return _SPECS[env_id]


def has_classic_spec(env_id: str) -> bool:
    """Say whether the environment's physics is here."""
    return env_id in _SPECS


def list_classic_specs() -> list[ClassicSpec]:
    """Return all specs."""
    return list(_SPECS.values())
