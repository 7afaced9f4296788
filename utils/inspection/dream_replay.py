"""The observations of a recorded episode, by playing it again."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from utils.inspection.actions import as_policy_action
from utils.inspection.observations import ObservationReader
from utils.inspection.progress import Progress
from utils.inspection.record import EpisodeRecord
from utils.inspection.recording import CannotReplayError
from utils.rollouts.stepper import to_tensors
from utils.spaces import ActionAdapter
from utils.vector_envs import InProcessVectorEnv
from utils.world_models.observation_parts import Observation

_CPU = torch.device("cpu")


def replay_observations(
    env: InProcessVectorEnv, record: EpisodeRecord, reader: ObservationReader, progress: Progress
) -> Observation:
    """Play an episode again with its recorded actions.

    Args:
        env: One environment.
        record: The episode of T steps.
        reader: Knows the checksum of an observation.
        progress: Is told of every step.

    Returns:
        (T + 1, ...) raw observations.

    Raises:
        CannotReplayError: A state is not the one that was recorded.
    """
    adapter = ActionAdapter(env.single_action_space)
    digests, actions = record.traces["digest"], record.traces["action"]
    observation, _ = env.reset(seed=record.request.seed)
    rows = []
    for t in range(record.length + 1):
        progress.note_steps(t)
        if reader.digest(observation) != int(digests[t]):
            raise CannotReplayError(
                f"nothing can be dreamt of this episode: played again from the same seed with the "
                f"same actions, {env.env_id} goes another way from step {t} on"
            )
        rows.append(_first_row(observation))
        if t < record.length:
            action = as_policy_action(actions[t], env.single_action_space)
            observation, _, terminated, truncated, infos = env.step(adapter.to_env(action[None]))
            if terminated[0] or truncated[0]:
                observation = infos["final_obs"]
    if isinstance(rows[0], dict):
        return to_tensors({key: np.stack([row[key] for row in rows]) for key in rows[0]}, _CPU)
    return to_tensors(np.stack(rows), _CPU)


def _first_row(observation: Any) -> Any:
    """Return row 0 in arrays of its own: the environment writes over the others."""
    if isinstance(observation, dict):
        return {key: part[0].copy() for key, part in observation.items()}
    return observation[0].copy()
