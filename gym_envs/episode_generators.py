"""Generators of vector environments of arrays: of each environment, and of the spaces."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import VectorEnv

from utils.errors import CheckpointError

_SPACES = ("action_space", "single_action_space")


def export_generators(env: VectorEnv, generators: list[np.random.Generator]) -> dict[str, Any]:
    """Return the states of all generators, in plain containers.

    Args:
        env: Whose action spaces draw.
        generators: Of each environment.
    """
    return {
        "episode_generators": [
            copy.deepcopy(generator.bit_generator.state) for generator in generators
        ],
        "generators": {
            name: copy.deepcopy(getattr(env, name).np_random.bit_generator.state)
            for name in _SPACES
        },
    }


def load_generators(env: VectorEnv, state: dict[str, Any]) -> list[np.random.Generator]:
    """Restore what `export_generators` returned; returns the generators of each environment.

    Raises:
        CheckpointError: The state is of another number of environments.
    """
    saved = state["episode_generators"]
    if len(saved) != env.num_envs:
        raise CheckpointError(
            f"the saved state is of {len(saved)} environments of {env.env_id}, not of "
            f"{env.num_envs}: resume with n_envs: {len(saved)}"
        )
    generators = [seeding.np_random(0)[0] for _ in saved]
    for generator, own in zip(generators, saved, strict=True):
        generator.bit_generator.state = own
    for name, own in state["generators"].items():
        getattr(env, name).np_random.bit_generator.state = own
    return generators
