"""Potential-based reward shaping: what the shaping wrappers have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium as gym
from typing_extensions import override

from utils.errors import ConfigError


class PotentialShaping(gym.Wrapper):
    """Adds gamma * phi(s') - phi(s) to each reward, which leaves the best policy as it is.

    phi counts as 0 once the episode has terminated (Ng, Harada, Russell 1999, "Policy invariance
    under reward transformations", theorem 1); in a truncated episode it is that of the last state.

    Attributes:
        raw_reward: Reward of the last step before shaping.
    """

    changes_reward = True

    def __init__(self, env: gym.Env, *, gamma: float) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            gamma: The agent's discount, in (0, 1]; a config must give both the same number.
        """
        super().__init__(env)
        self._gamma = gamma
        self._potential = 0.0
        self.raw_reward = 0.0

    @abstractmethod
    def compute_potential(self, observation: Any) -> float:
        """Return phi of a state that is not terminal, in units of reward."""

    @override
    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.raw_reward = float(reward)
        potential = 0.0 if terminated else self.compute_potential(observation)
        shaped = self.raw_reward + self._gamma * potential - self._potential
        self._potential = potential
        return observation, shaped, terminated, truncated, info

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._potential = self.compute_potential(observation)
        return observation, info


def require_own_numbers(env: gym.Env, *, wrapper: str, task: str, n_numbers: int) -> None:
    """Make sure that an observation is the vector of a task, as its environment gives it.

    Args:
        env: What is to be wrapped.
        wrapper: Name of the wrapper that reads the numbers.
        task: What is in the ids of the environments that it is for; one without id is believed.
        n_numbers: Length of the vector.

    Raises:
        ConfigError: The environment is another one, or a wrapper below changes what it shows.
    """
    if env.spec is not None and task not in env.spec.id:
        raise ConfigError(f"env_wrappers: {wrapper} needs a {task} environment, not {env.spec.id}")
    inner = env
    while isinstance(inner, gym.Wrapper):
        if inner.observation_space != inner.env.observation_space:
            raise ConfigError(
                f"env_wrappers: put {wrapper} before {type(inner).__name__}, which changes the "
                "numbers that it reads"
            )
        inner = inner.env
    if env.observation_space.shape != (n_numbers,):
        raise ConfigError(
            f"env_wrappers: {wrapper} reads {n_numbers} numbers of {task}, and the observation is "
            f"{env.observation_space}"
        )
