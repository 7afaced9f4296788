"""What a world model made of an episode, and how it would have dreamt it from any step on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from utils.world_models.decoder import Decoded
from utils.world_models.observation_parts import Observation
from utils.world_models.rssm import Imagined, State
from utils.world_models.world_model import WorldModel

Choose = Callable[[State, int], tuple[Tensor, Tensor]]
"""State (N, ...) and number of the step -> actions (N, ...), and the same encoded (N, A)."""

_ROWS_AT_ONCE = 256  # of pictures, which take much room between the layers of a network


class Beliefs(NamedTuple):
    """What a model believed at each of the T states of an episode."""

    state: State
    """(T, ...) with the observation of that moment taken in."""
    divergence: Tensor
    """(T,) in nats: how far what it saw was from what it had expected."""


class Reading(NamedTuple):
    """What a model reads off states (T, ...)."""

    decoded: Decoded
    """Without pictures where none were asked for."""
    numbers: Tensor | None
    """(T, width) of what is no picture, in its own units; choices as probabilities."""
    reward: Tensor
    """(T,) that arrives with each state."""
    goes_on: Tensor | None
    """(T,) probability that the episode goes on; None where the model does not predict it."""


@torch.no_grad()
def observe_episode(
    model: WorldModel,
    observation: Observation,
    action: Tensor,
    *,
    generator: torch.Generator | None = None,
) -> Beliefs:
    """Go through an episode with everything that was seen.

    Args:
        model: The world model.
        observation: (T, ...) raw, of one episode from its first state on.
        action: (T - 1, A) encoded; action t leads from state t to state t + 1.
        generator: Draws the latents; None takes the likeliest ones.
    """
    rssm = model.rssm
    n_steps = len(action) + 1
    embedding = torch.cat(
        [
            model.encoder(_rows(observation, first, n_steps), n_leading=1)
            for first in range(0, n_steps, _ROWS_AT_ONCE)
        ]
    )
    assert len(embedding) == n_steps, (len(embedding), n_steps)
    state, before = rssm.initial(1), action.new_zeros(1, action.shape[-1])
    drawn = None if generator is None else rssm.latent.draw_noise((n_steps, 1), generator)
    states, posteriors = [], []
    for t in range(n_steps):
        noise = None if drawn is None else drawn[t]
        state, posterior = rssm.observe_step(state, before, embedding[t : t + 1], noise=noise)
        states.append(state)
        posteriors.append(posterior)
        before = action[t : t + 1]
    deter, stoch = (torch.cat(part) for part in zip(*states, strict=True))
    divergence = rssm.latent.divergence(torch.cat(posteriors), rssm.prior(deter))
    return Beliefs(State(deter, stoch), divergence)


@torch.no_grad()
def dream(
    model: WorldModel,
    start: State,
    choose: Choose,
    *,
    n_steps: int,
    generator: torch.Generator | None = None,
) -> Imagined:
    """Go on from states without seeing anything more.

    Args:
        model: The world model.
        start: (N, ...)
        choose: What is done at each step of the dream.
        n_steps: How far (H), >= 1.
        generator: Draws the latents; None takes the likeliest ones.
    """
    assert n_steps >= 1, n_steps
    rssm = model.rssm
    if generator is not None:
        noise = rssm.latent.draw_noise((n_steps, len(start.deter)), generator)
        return rssm.imagine(start, choose, noise)
    states, actions = [start], []
    for step in range(n_steps):
        action, encoded = choose(states[-1], step)
        actions.append(action)
        states.append(rssm.imagine_step(states[-1], encoded, None))
    deter, stoch = (torch.stack(part) for part in zip(*states, strict=True))
    return Imagined(State(deter, stoch), torch.stack(actions))


def repeat_actions(encoded: Tensor) -> Choose:
    """Return a choice that does in each step of a dream what was done then.

    Args:
        encoded: (H, A) of the steps of the dream.
    """

    def choose(state: State, step: int) -> tuple[Tensor, Tensor]:
        row = encoded[step].expand(len(state.deter), -1)
        return row, row

    return choose


@torch.no_grad()
def read_states(model: WorldModel, state: State, *, has_pictures: bool = True) -> Reading:
    """Return what a model sees, is paid and expects in states (T, ...).

    Args:
        model: The world model.
        state: (T, ...)
        has_pictures: Decode pictures too, which takes longer than all the rest.
    """
    parts = [_read(model, rows, has_pictures) for rows in state.features.split(_ROWS_AT_ONCE)]
    return parts[0] if len(parts) == 1 else _join(parts)


def _read(model: WorldModel, features: Tensor, has_pictures: bool) -> Reading:
    decoder = model.decoder
    if has_pictures:
        decoded = decoder(features)
    else:
        decoded = Decoded([], None if decoder.vector is None else decoder.vector(features))
    return Reading(
        decoded,
        decoder.numbers(decoded),
        model.reward.mean(model.reward(features)),
        None if model.goes_on is None else model.goes_on.probability(model.goes_on(features)),
    )


def _join(parts: list[Reading]) -> Reading:
    pictures = zip(*(part.decoded.pictures for part in parts), strict=True)
    decoded = Decoded(
        [torch.cat(rows) for rows in pictures], _cat([part.decoded.vector for part in parts])
    )
    reward = torch.cat([part.reward for part in parts])
    return Reading(
        decoded,
        _cat([part.numbers for part in parts]),
        reward,
        _cat([part.goes_on for part in parts]),
    )


def _cat(parts: list[Tensor | None]) -> Tensor | None:
    known = [part for part in parts if part is not None]
    return torch.cat(known) if known else None


def _rows(observation: Observation, first: int, stop: int) -> Observation:
    """Return some rows of an observation (T, ...), `_ROWS_AT_ONCE` at most."""
    rows = slice(first, min(stop, first + _ROWS_AT_ONCE))
    if isinstance(observation, dict):
        return {key: part[rows] for key, part in observation.items()}
    return observation[rows]
