"""The compiled environments for Stable-Baselines3.

from gym_envs.sb3 import SimdVecEnv
model = stable_baselines3.PPO("MlpPolicy", SimdVecEnv("CartPole-v1", 8))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from gym_envs.simd import SimdVectorEnv
from utils.errors import MissingDependencyError

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise MissingDependencyError(
        "stable-baselines3", extra="peers", needed_for="gym_envs.sb3"
    ) from error

Indices = None | int | Sequence[int]


class SimdVecEnv(VecEnv):
    """A `SimdVectorEnv` with the interface of Stable-Baselines3's vector environments.

    Where an episode ends, the environment's info holds `terminal_observation`,
    `TimeLimit.truncated` and `episode` (`r` return, `l` length), the last one as a `Monitor` around
    it would put it there.
    """

    def __init__(self, env_id: str, n_envs: int, *, seed: int | None = None, **arguments: Any):
        """Build the environments.

        Args:
            env_id: Id of an environment that `gym_envs.physics` has.
            n_envs: Number of environments.
            seed: Of the first reset.
            arguments: Further ones of `SimdVectorEnv`.
        """
        self.env = SimdVectorEnv(env_id, n_envs, **arguments)
        self._actions: np.ndarray | None = None
        super().__init__(n_envs, self.env.single_observation_space, self.env.single_action_space)
        if seed is not None:
            self.seed(seed)

    @override
    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seed of the next reset; None draws none: the next reset goes on."""
        self._seeds = [seed] * self.num_envs
        return self._seeds

    @override
    def reset(self) -> np.ndarray:
        """Begin a new episode everywhere; return the observation (N, ...)."""
        observation, _ = self.env.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        return observation

    @override
    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    @override
    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Step with the actions kept; return observation, reward, done and infos."""
        observation, reward, terminated, truncated, infos = self.env.step(self._actions)
        env_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        done = terminated | truncated
        if infos:
            returns, lengths = self.env.episode_returns, self.env.episode_lengths
            for i in np.flatnonzero(done):
                env_infos[i] = {
                    "terminal_observation": infos["final_obs"][i].copy(),
                    "TimeLimit.truncated": bool(truncated[i]),
                    "episode": {"r": float(returns[i]), "l": int(lengths[i])},
                }
        return observation, reward, done, env_infos

    @override
    def close(self) -> None:
        """Close the environments."""
        self.env.close()

    @override
    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Return an attribute of the vector environment, once for each index."""
        return [getattr(self.env, attr_name)] * len(list(self._get_indices(indices)))

    @override
    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Refuse: there are no environments of their own to set it in.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(f"compiled environments share one '{attr_name}'")

    @override
    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Refuse: there are no environments of their own to call it on.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(f"compiled environments have no '{method_name}' of their own")

    @override
    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """Say yes for `Monitor`, whose records the infos hold; there are no other wrappers."""
        is_wrapped = issubclass(wrapper_class, Monitor)
        return [is_wrapped] * len(list(self._get_indices(indices)))

    @override
    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return a picture of each environment."""
        return self.env.render()
