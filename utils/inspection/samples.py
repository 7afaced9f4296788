"""Sequences of actions that an agent might have drawn at a step of a recorded episode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from utils.errors import UserError
from utils.inspection.dream_replay import Shelf, replay_record
from utils.inspection.observations import ObservationReader
from utils.inspection.payload import encode_array
from utils.inspection.progress import Progress
from utils.inspection.record import EpisodeRecord
from utils.inspection.sample_wish import N_SEQUENCES, SampleWish
from utils.policies.sequence_draws import DrawsSequences
from utils.vector_envs import InProcessVectorEnv

Observation = Tensor | dict[str, Tensor]


@dataclass(slots=True)
class _Walk:
    """What the policy remembered before each step of an episode so far."""

    observation: Observation
    """(T + 1, ...) of the whole episode."""
    generator: torch.Generator
    """As it is before the last of these steps."""
    state: list[Tensor] = field(default_factory=list)
    """(1, state_dim) each."""


class SampleRoom:
    """Draws sequences for the episodes of one run; all in the studio's thread.

    What the policy remembers is not stored with an episode: it is played again with the recorded
    actions, and the policy acts again through it, with the draws of that time.
    """

    def __init__(
        self, env: InProcessVectorEnv, *, reader: ObservationReader, progress: Progress
    ) -> None:
        """Bind the environment of a run.

        Args:
            env: One environment, of which nothing is kept between calls.
            reader: Of its observations.
            progress: Is told how far things are.
        """
        self._env, self._reader, self._progress = env, reader, progress
        self._walks: Shelf[_Walk] = Shelf()

    @torch.inference_mode()
    def answer(
        self, record: EpisodeRecord, policy: DrawsSequences, wish: SampleWish
    ) -> dict[str, Any]:
        """Draw sequences at a step; the same ones whenever that is asked for.

        Args:
            record: The episode.
            policy: That played it.
            wish: Which step.

        Returns:
            As JSON holds it, arrays by `encode_array`, in the environment's units: `step`;
            `horizon`, the actions of a sequence from this step on; `execution`, how many of them
            would be carried out; `n_left`, how many of an earlier sequence were still to be, 0
            where one was drawn here; `sequences` (n, horizon A).

        Raises:
            CannotReplayError: The environment does not go the same way again.
            UserError: There is no such step.
        """
        if not 0 <= wish.step < record.length:
            raise UserError(
                f"at step {wish.step} nothing is drawn: the steps of this episode are 0 to "
                f"{record.length - 1}"
            )
        walk = self._walks.get(record.request.folder, lambda: self._begin(record, policy))
        for t in range(len(walk.state) - 1, wish.step):
            self._progress.note_steps(t)
            self._go_on(record, policy, walk, t)
        state = walk.state[wish.step]
        drawn = policy.sample_sequences(
            policy.normalize(_row(walk.observation, wish.step)),
            state=state,
            n=N_SEQUENCES,
            generator=torch.Generator().manual_seed(wish.step),
        )
        ahead = drawn[:, policy.horizons.observations - 1 :]
        return {
            "step": wish.step,
            "horizon": ahead.shape[1],
            "execution": policy.horizons.execution,
            "n_left": int(policy.n_left(state)[0]),
            "sequences": encode_array(ahead.flatten(1).float().numpy()),
        }

    def _begin(self, record: EpisodeRecord, policy: DrawsSequences) -> _Walk:
        observation = replay_record(self._env, record, self._reader, self._progress)
        generator = torch.Generator().manual_seed(record.request.seed)
        return _Walk(observation, generator, [policy.initial_state(1)])

    def _go_on(self, record: EpisodeRecord, policy: DrawsSequences, walk: _Walk, t: int) -> None:
        """Let the policy act at step t, the last that is known of; then t + 1 is known too."""
        step = policy.act(
            policy.normalize(_row(walk.observation, t)),
            generator=walk.generator,
            deterministic=record.request.is_deterministic,
            state=walk.state[t],
        )
        assert step.state is not None
        walk.state.append(step.state)


def _row(observation: Observation, t: int) -> Observation:
    if isinstance(observation, dict):
        return {key: part[t : t + 1] for key, part in observation.items()}
    return observation[t : t + 1]
