"""Imagination beside reality: what a world model made of a recorded episode, and its dreams."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from utils.errors import UserError
from utils.inspection.actions import as_policy_action
from utils.inspection.dream_replay import Shelf, replay_record
from utils.inspection.dream_sheets import as_sheet
from utils.inspection.dream_wish import DreamWish
from utils.inspection.observations import ObservationReader
from utils.inspection.payload import encode_array
from utils.inspection.progress import Progress
from utils.inspection.record import EpisodeRecord
from utils.playback.decoded_pictures import draw_pictures, real_pictures
from utils.playback.observation_names import name_decoded_numbers
from utils.policies.world_model_policy import Belief
from utils.vector_envs import InProcessVectorEnv
from utils.world_models import State
from utils.world_models.decoder import Decoded
from utils.world_models.dreaming import (
    Beliefs,
    Choose,
    Reading,
    dream,
    observe_episode,
    read_states,
    repeat_actions,
)
from utils.world_models.observation_parts import Observation

CONTEXT = 5
"""Pictures before the step that a dream begins at."""
MOST_NUMBERS = 256


class _Seen(NamedTuple):
    """What a model made of a whole episode of T steps."""

    beliefs: Beliefs
    """(T + 1, ...)"""
    reading: Reading
    """Of them, without pictures."""


class DreamRoom:
    """Dreams of the episodes of one run, in its environment; all in the studio's thread.

    Observations are not stored with an episode: it is played again with the recorded actions,
    each state being compared with the recorded one. What was read last is kept.
    """

    def __init__(
        self, env: InProcessVectorEnv, *, reader: ObservationReader, config: Any, progress: Progress
    ) -> None:
        """Bind the environment of a run.

        Args:
            env: One environment, of which nothing is kept between calls.
            reader: Of its observations.
            config: Of the run.
            progress: Is told how far things are.
        """
        self._env, self._reader, self._progress = env, reader, progress
        self._labels = name_decoded_numbers(env, config.spec.observation.labels)
        known = type(config).model_fields
        is_discounted = "discounted_end" in known and config.discounted_end
        self._goes_on_goal = float(config.gamma) if is_discounted else 1.0
        self._observations: Shelf[Observation] = Shelf()
        self._seen: Shelf[_Seen] = Shelf()

    @torch.inference_mode()
    def answer(self, record: EpisodeRecord, policy: Belief, wish: DreamWish) -> dict[str, Any]:
        """Dream from a step of an episode on.

        Args:
            record: The episode.
            policy: That played it, or another one of the same run.
            wish: Which dream.

        Returns:
            As JSON holds it, arrays by `encode_array`: `step` and `n` steps, `labels` of the
            numbers; `real`, `seen` and `dreamt` with what is known of each, see `_said`, of all
            states of the episode and of those of the dream; and see `_beside`.

        Raises:
            CannotReplayError: The environment does not go the same way again.
            UserError: There is no such step.
        """
        if not 0 <= wish.step < record.length:
            raise UserError(
                f"from step {wish.step} nothing can be dreamt: the steps of this episode are 0 to "
                f"{record.length - 1}"
            )
        observation = self._observe(record)
        seen = self._see(record, policy, observation, wish.draw)
        k, n = wish.step, wish.horizon
        if wish.actions == "recorded":
            n = min(n, record.length - k)
        generator = _generator(wish.draw)
        imagined = dream(
            policy.world_model,
            State(*(part[k : k + 1] for part in seen.beliefs.state)),
            self._choice(record, policy, wish, generator),
            n_steps=n,
            generator=generator,
        )
        state = State(*(part.squeeze(1) for part in imagined.state))
        action = policy.code.to_env(imagined.action.squeeze(1)) if wish.actions == "own" else None
        reading = read_states(policy.world_model, state)
        return self._tell(_Dreamt(record, policy, observation, seen, k, state, reading, action))

    def _observe(self, record: EpisodeRecord) -> Observation:
        """Return all observations of an episode, (T + 1, ...)."""
        return self._observations.get(
            record.request.folder,
            lambda: replay_record(self._env, record, self._reader, self._progress),
        )

    def _see(
        self, record: EpisodeRecord, policy: Belief, observation: Observation, draw: int | None
    ) -> _Seen:
        def make() -> _Seen:
            action = _encode(policy, self._env, record)
            generator = _generator(draw)
            model = policy.world_model
            beliefs = observe_episode(model, observation, action, generator=generator)
            return _Seen(beliefs, read_states(model, beliefs.state, has_pictures=False))

        return self._seen.get((record.request.folder, draw), make)

    def _choice(
        self,
        record: EpisodeRecord,
        policy: Belief,
        wish: DreamWish,
        generator: torch.Generator | None,
    ) -> Choose:
        if wish.actions == "recorded":
            return repeat_actions(_encode(policy, self._env, record)[wish.step :])
        return policy.choose_in_dreams(generator)

    def _tell(self, told: _Dreamt) -> dict[str, Any]:
        """Put everything together that a person looks at."""
        record, k = told.record, told.step
        dreamt = _said(told.policy, told.state, told.reading)
        if told.action is not None:
            dreamt["action"] = _encoded(told.action.reshape(told.n, -1))
        return {
            "step": k,
            "n": told.n,
            "is_own": told.action is not None,
            "labels": self._labels[:MOST_NUMBERS],
            "n_left_out": max(0, len(self._labels) - MOST_NUMBERS),
            "goes_on_goal": self._goes_on_goal,
            "real": self._real(record, told.policy, told.observation),
            "seen": _said(told.policy, told.seen.beliefs.state, told.seen.reading)
            | {"divergence": _encoded(told.seen.beliefs.divergence)},
            "dreamt": dreamt,
            **_beside(told),
        }

    def _real(
        self, record: EpisodeRecord, policy: Belief, observation: Observation
    ) -> dict[str, Any]:
        """Return what a model predicts as it really was: `reward`, `goes_on`, `numbers`."""
        goes_on = np.full(record.length + 1, self._goes_on_goal, np.float32)
        if record.end == "terminated":
            goes_on[-1] = 0.0
        traces, parts = record.traces, policy.world_model.decoder.parts
        told = {
            "reward": encode_array(traces.get("learner_reward", traces["reward"])),
            "goes_on": encode_array(goes_on),
        }
        if parts.width:
            told["numbers"] = _encoded(parts.vector(observation, n_leading=1)[:, :MOST_NUMBERS])
        return told


class _Dreamt(NamedTuple):
    """A dream, and the episode beside it."""

    record: EpisodeRecord
    policy: Belief
    observation: Observation
    """(T + 1, ...)"""
    seen: _Seen
    step: int
    """Where it begins (k)."""
    state: State
    """(n + 1, ...), the one that it begins with included."""
    reading: Reading
    """Of them."""
    action: Tensor | None
    """(n, ...) in the policy's numbers; None where the recorded ones were taken."""

    @property
    def n(self) -> int:
        """Steps of the dream."""
        return len(self.state.deter) - 1


def _beside(told: _Dreamt) -> dict[str, Any]:
    """Return pictures around a dream, and how far seeing and dreaming miss what was there.

    Returns:
        `first`, the step that it begins with; `missed`, by name of a loss, `seen` from there on and
        `dreamt` from the dream's first step on, both as far as there is something to compare with;
        `sheets` of `real`, `seen` and `dreamt` pictures, None without pictures.
    """
    model, k = told.policy.world_model, told.step
    first, stop = max(0, k - CONTEXT), min(told.record.length, k + told.n) + 1
    window = _rows(told.observation, first, stop)
    state = State(*(part[first:stop] for part in told.seen.beliefs.state))
    near, far = read_states(model, state).decoded, told.reading.decoded
    ahead = Decoded(
        [part[: stop - k] for part in far.pictures],
        None if far.vector is None else far.vector[: stop - k],
    )
    seen = model.decoder.loss(near, window)
    dreamt = model.decoder.loss(ahead, _rows(told.observation, k, stop))
    sheets = None
    if near.pictures:
        pictures = real_pictures(model.decoder.parts, window)
        sheets = {
            "real": as_sheet(draw_pictures(pictures), first=first),
            "seen": as_sheet(draw_pictures(near.pictures), first=first),
            "dreamt": as_sheet(draw_pictures(far.pictures), first=k),
        }
    missed = {
        name: {"seen": _encoded(loss), "dreamt": _encoded(dreamt[name])}
        for name, loss in seen.items()
    }
    return {"first": first, "missed": missed, "sheets": sheets}


def _said(policy: Belief, state: State, reading: Reading) -> dict[str, Any]:
    """Return what was read off states (n, ...), by name.

    Row t of `numbers`, `goes_on` and `value` belongs to state t; row t of `reward`, which has one
    row less, to the step that leads from state t to the next, as elsewhere on the page.
    """
    told = {"reward": _encoded(reading.reward[1:])}
    if reading.numbers is not None:
        told["numbers"] = _encoded(reading.numbers[:, :MOST_NUMBERS])
    if reading.goes_on is not None:
        told["goes_on"] = _encoded(reading.goes_on)
    value = policy.value_of(state)
    if value is not None:
        told["value"] = _encoded(value)
    return told


def _encoded(values: Tensor) -> dict[str, Any]:
    return encode_array(values.float().cpu().numpy())


def _generator(draw: int | None) -> torch.Generator | None:
    return None if draw is None else torch.Generator().manual_seed(draw)


def _encode(policy: Belief, env: InProcessVectorEnv, record: EpisodeRecord) -> Tensor:
    """Return what was done in an episode as the model reads it, (T, A)."""
    space = env.single_action_space
    rows = [as_policy_action(action, space) for action in record.traces["action"]]
    return policy.code.encode(policy.code.from_env(torch.from_numpy(np.stack(rows))))


def _rows(observation: Observation, first: int, stop: int) -> Observation:
    if isinstance(observation, dict):
        return {key: part[first:stop] for key, part in observation.items()}
    return observation[first:stop]
