"""What an exported file says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from utils.export.program import MASK, NEXT_STATE, OBSERVATION, STATE
from utils.spaces import space_to_dict

FORMAT = "gymnasium-solver policy"
FORMAT_VERSION = 1

_MEANINGS = {
    OBSERVATION: "raw, as the environment gives it after its wrappers; normalised inside",
    MASK: "which choices the environment allows, true for allowed; at least one of each part",
    STATE: "of the memory before this observation; all zeros where an episode begins",
    NEXT_STATE: "of the memory after this observation: the next call's `state`",
    "action": "the most likely one, as the environment takes it",
    "action_probabilities": "of each choice, masked; of each bit that it is 1",
    "action_mean": "of the normal distribution, before it is clipped to the bounds",
    "action_std": "standard deviation of the normal distribution",
    "value": "expected discounted return of the learner's rewards",
    "q_values": "expected discounted return of the learner's rewards, for each action",
}


def describe_program(
    config: Any,
    *,
    timesteps: int,
    observation_space: gym.Space,
    action_space: gym.Space,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """Return everything that a reader needs to call the program, as JSON values.

    Args:
        config: Of the run.
        timesteps: How long the policy was trained.
        observation_space: Of one environment, after its wrappers.
        action_space: Of one environment.
        inputs: An example of each, (B, ...).
        outputs: An example of each, (B, ...).
    """
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "config_id": config.config_id,
        "algo_id": config.algo_id,
        "env_id": config.env_id,
        "timesteps": timesteps,
        "observation_space": space_to_dict(observation_space),
        "action_space": space_to_dict(action_space),
        "action_labels": list(config.spec.action.labels),
        "inputs": {name: _describe(name, value) for name, value in inputs.items()},
        "outputs": {name: _describe(name, value) for name, value in outputs.items()},
    }


def _describe(name: str, value: np.ndarray) -> dict[str, Any]:
    meaning = _MEANINGS.get(name) or _MEANINGS.get(name.partition(".")[0])
    described = {"shape": ["batch", *value.shape[1:]], "dtype": str(value.dtype)}
    return described if meaning is None else described | {"meaning": meaning}
