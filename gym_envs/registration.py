"""The ids under which `gymnasium.make_vec` finds the environments of this package."""

from __future__ import annotations

from typing import Any, NoReturn

import gymnasium as gym

from gym_envs.physics import list_classic_specs

# Namespace -> vector environment that takes `env_id` and `num_envs`; imported when it is built.
_VECTOR_ENVS = {
    "simd": "gym_envs.simd.vector_env:SimdVectorEnv",
    "torch": "gym_envs.torch_envs.vector_env:TorchVectorEnv",
}


def register_vector_envs() -> None:
    """Register each classic environment once in every namespace, such as `torch/CartPole-v1`.

    ``gymnasium.make_vec("gym_envs:torch/CartPole-v1", num_envs=4096, device="cuda")`` imports
    `gym_envs`, which calls this.
    """
    for namespace, entry_point in _VECTOR_ENVS.items():
        for spec in list_classic_specs():
            gym.register(
                f"{namespace}/{spec.env_id}",
                entry_point="gym_envs.registration:refuse_single",
                vector_entry_point=entry_point,
                reward_threshold=spec.reward_threshold,
                max_episode_steps=spec.max_episode_steps,
                kwargs={"env_id": spec.env_id},
            )


def refuse_single(**kwargs: Any) -> NoReturn:
    """Tell whoever calls `gymnasium.make` that these are vector environments.

    Raises:
        Error: Always.
    """
    raise gym.error.Error(
        f"this {kwargs['env_id']} is a vector environment: build it with gymnasium.make_vec(...)"
    )
