"""The observations of a recorded episode, by playing it again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import torch

from utils.inspection.actions import as_policy_action
from utils.inspection.observations import ObservationReader
from utils.inspection.progress import Progress
from utils.inspection.record import EpisodeRecord
from utils.inspection.recording import CannotReplayError
from utils.playback.replay import replay_observations, stack_observations
from utils.vector_envs import InProcessVectorEnv
from utils.world_models.observation_parts import Observation

_CPU = torch.device("cpu")
_MOST_KEPT = 4
Kept = TypeVar("Kept")


class Shelf(Generic[Kept]):
    """What was made for the keys that were asked for last."""

    def __init__(self) -> None:
        """Begin empty."""
        self._kept: OrderedDict[Any, Kept] = OrderedDict()

    def get(self, key: Any, make: Callable[[], Kept]) -> Kept:
        """Return what was made for a key, now or before; the oldest is dropped for it."""
        if key not in self._kept:
            self._kept[key] = make()
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def replay_record(
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

    def checked() -> Iterator[Any]:
        space = env.single_action_space
        actions = [as_policy_action(action, space) for action in record.traces["action"]]
        replayed = replay_observations(env, seed=record.request.seed, actions=actions)
        for t, observation in enumerate(replayed):
            progress.note_steps(t)
            if reader.digest(observation) != int(record.traces["digest"][t]):
                raise CannotReplayError(
                    f"nothing can be dreamt of this episode: played again from the same seed with "
                    f"the same actions, {env.env_id} goes another way from step {t} on"
                )
            yield observation

    return stack_observations(env.single_observation_space, checked(), device=_CPU)
